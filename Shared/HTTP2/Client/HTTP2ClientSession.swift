import CNghttp2
import Glibc

/// The client's end of HTTP/2 as a state machine over bytes: nghttp2 plus one slot per stream.
///
/// It does no I/O. A stream's user data is its slot index, so that callbacks need no object per
/// request. Finished requests collect in `completed`, to be taken after nghttp2 has returned.
/// Loop thread only.
final class HTTP2ClientSession {
    /// Who waits for the outcome of a request.
    enum Reply {
        case nobody
        case tag(UInt64)
        case continuation(UnsafeContinuation<HTTP2Outcome, Never>, id: UInt64)
    }

    struct Slot {
        var reply = Reply.nobody
        var body = OutgoingBody()
        var streamID: Int32 = 0
        /// Bytes that the connection had produced before this request, -1 while it has not begun.
        var producedAt: Int64 = -1
        var deadline = Int64.max
        var status = 0
        var fields: [HTTP2Field] = []
        var answer: [UInt8] = []
        var isTruncated = false
        /// The answer came with END_STREAM.
        var isComplete = false
        var isActive = false
    }

    /// What the peer did to the connection, in order.
    enum Event {
        case settings
        case goAway(HTTP2GoAway)
        case pong(UInt64)
    }

    let counts = HTTP2ByteCounts()
    let slots: UnsafeMutablePointer<Slot>
    let slotCount: Int
    let keptHeaders: [(name: [UInt8], text: String)]
    /// A bit for each length of a kept name, so that most fields are passed over at once.
    let keptLengths: UInt64
    let keptBodyBytes: Int
    var completed: [(reply: Reply, outcome: HTTP2Outcome)] = []
    var events: [Event] = []
    private(set) var activeCount = 0
    private(set) var hasSucceeded = false
    private(set) var silentStreams = 0
    /// Streams that the peer allows, before this side's own cap; 1 before its first SETTINGS.
    private(set) var remoteStreamLimit = 1
    var requestsBegun = 0
    /// Bytes of bodies that nghttp2 has not taken yet.
    var unsentBodyBytes = 0

    private(set) var pointer: OpaquePointer
    /// Of the session at `pointer`, which is freed before.
    private let memory = HTTP2Memory()
    private let encoder: HTTP2HeaderEncoder
    private var free: [Int32]

    init(_ configuration: HTTP2ClientConfiguration) throws(HTTP2Closure) {
        slotCount = configuration.maximumStreams
        keptBodyBytes = configuration.keptBodyBytes
        keptHeaders = configuration.keptHeaders.map { (Array($0.utf8), $0) }
        keptLengths = keptHeaders.reduce(0) { $0 | 1 << UInt64(min(63, $1.name.count)) }
        encoder = HTTP2HeaderEncoder(
            leading: 2,
            lasting: [
                HTTP2Field(":scheme", "https"),
                HTTP2Field(":authority", configuration.authority),
            ] + configuration.commonHeaders
        )
        free = (0..<Int32(slotCount)).reversed()
        pointer = try Self.makeSession(memory)
        slots = .allocate(capacity: slotCount)
        slots.initialize(repeating: Slot(), count: slotCount)
        nghttp2_session_set_user_data(pointer, Unmanaged.passUnretained(self).toOpaque())
        var settings = [
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue),
                value: 0
            )
        ]
        nghttp2_submit_settings(
            pointer,
            UInt8(NGHTTP2_FLAG_NONE.rawValue),
            &settings,
            settings.count
        )
    }

    deinit {
        nghttp2_session_del(pointer)
        slots.deinitialize(count: slotCount)
        slots.deallocate()
    }

    private static func makeSession(
        _ memory: HTTP2Memory
    ) throws(HTTP2Closure) -> OpaquePointer {
        var option: OpaquePointer?
        guard nghttp2_option_new(&option) == 0, let option else {
            throw .protocolViolation("out of memory")
        }
        defer { nghttp2_option_del(option) }
        // Before the first SETTINGS one stream is all that APNs allows (RFC 9113 has no limit).
        nghttp2_option_set_peer_max_concurrent_streams(option, 1)
        nghttp2_option_set_no_closed_streams(option, 1)
        guard let callbacks = makeClientCallbacks() else {
            throw .protocolViolation("out of memory")
        }
        defer { nghttp2_session_callbacks_del(callbacks) }
        var pointer: OpaquePointer?
        // nghttp2 copies the table of functions.
        var functions = memory.functions
        let code = nghttp2_session_client_new3(&pointer, callbacks, nil, option, &functions)
        guard code == 0, let pointer else { throw .protocolViolation("out of memory") }
        return pointer
    }

    // MARK: What the connection may do

    /// Reads what the peer's SETTINGS, which just came, allow.
    func noteSettings() {
        let limit = nghttp2_session_get_remote_settings(
            pointer,
            NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS
        )
        remoteStreamLimit = Int(limit)
    }

    var allowsRequests: Bool {
        nghttp2_session_check_request_allowed(pointer) != 0
    }

    /// Nothing is left to read or to write: the connection is over.
    var isFinished: Bool {
        nghttp2_session_want_read(pointer) == 0 && nghttp2_session_want_write(pointer) == 0
    }

    /// Bytes that the peer's connection window still takes beyond the bodies that wait for it.
    var windowLeft: Int { Int(nghttp2_session_get_remote_window_size(pointer)) - unsentBodyBytes }

    // MARK: Requests

    /// Begins a request; nil means taken, and its outcome will come by `reply`.
    func submit(_ request: HTTP2Request, deadline: Int64, reply: Reply) -> HTTP2NotSent? {
        guard let free = free.popLast() else { return .noCapacity }
        let index = Int(free)
        encoder.restart()
        guard
            encoder.lead(0, ":method", request.method, .automatic),
            encoder.lead(1, ":path", request.path, .none)
        else { return giveBack(index, .tooLarge) }
        for field in request.headers
        where !encoder.add(field.name, field.value, field.indexing) {
            return giveBack(index, .tooLarge)
        }
        var provider = nghttp2_data_provider()
        provider.source.fd = free
        provider.read_callback = readRequestBody
        let stream = withUnsafePointer(to: provider) { provider in
            nghttp2_submit_request(
                pointer,
                nil,
                encoder.fields,
                encoder.count,
                request.body.isEmpty ? nil : provider,
                streamUserData(index)
            )
        }
        guard stream > 0 else { return giveBack(index, .notReady) }
        let slot = slots + index
        slot.pointee.body = OutgoingBody(request.body)
        slot.pointee.reply = reply
        slot.pointee.streamID = stream
        slot.pointee.deadline = deadline
        slot.pointee.isActive = true
        activeCount += 1
        requestsBegun += 1
        unsentBodyBytes += request.body.count
        return nil
    }

    private func giveBack(_ index: Int, _ reason: HTTP2NotSent) -> HTTP2NotSent {
        free.append(Int32(index))
        return reason
    }

    /// Ends requests whose deadline has passed and resets their streams.
    ///
    /// Returns the earliest deadline that is still ahead, `.max` if there is none.
    func expire(at now: Int64) -> Int64 {
        var next = Int64.max
        for index in 0..<slotCount where slots[index].isActive {
            if slots[index].deadline > now {
                next = min(next, slots[index].deadline)
            } else {
                if slots[index].producedAt >= 0 { silentStreams += 1 }
                abandon(index, .timeout)
            }
        }
        return next
    }

    /// Ends the request of a cancelled caller, if it is still under way.
    func cancel(id: UInt64) {
        for index in 0..<slotCount where slots[index].isActive {
            if case .continuation(_, id) = slots[index].reply { abandon(index, .cancelled) }
        }
    }

    /// Reports a request at once; its slot stays taken until nghttp2 has closed the stream.
    private func abandon(_ index: Int, _ why: HTTP2Ambiguity) {
        let slot = slots + index
        if slot.pointee.isComplete {
            reportResponse(index)
        } else if isUnwritten(index) {
            report(index, .notSent(why == .cancelled ? .cancelled : .neverWritten))
        } else {
            reportAmbiguous(index, why)
        }
        slot.pointee.deadline = .max
        nghttp2_submit_rst_stream(
            pointer,
            UInt8(NGHTTP2_FLAG_NONE.rawValue),
            slot.pointee.streamID,
            NGHTTP2_CANCEL.rawValue
        )
    }

    /// Ends every request after the connection is gone.
    func connectionLost() {
        for index in 0..<slotCount where slots[index].isActive {
            if slots[index].isComplete {
                reportResponse(index)
            } else if isUnwritten(index) {
                report(index, .notSent(.neverWritten))
            } else {
                reportAmbiguous(index, .connectionLost)
            }
            release(index)
        }
    }

    /// No byte of the request was ever handed to TLS.
    private func isUnwritten(_ index: Int) -> Bool {
        slots[index].producedAt < 0 || slots[index].producedAt >= counts.attempted
    }

    // MARK: Called by nghttp2's callbacks

    func streamClosed(_ index: Int, code: UInt32) {
        if slots[index].isComplete {
            reportResponse(index)
        } else if code == NGHTTP2_REFUSED_STREAM.rawValue {
            report(index, .notSent(.refused))
        } else if slots[index].producedAt < 0 {
            report(index, .notSent(.neverWritten))
        } else {
            reportAmbiguous(index, .reset(HTTP2ErrorCode(rawValue: code)))
        }
        release(index)
    }

    /// The answer is complete; if it came before the end of our upload, the rest is given up.
    func answerEnded(_ index: Int, stream: Int32) {
        guard slots[index].status >= 200 else { return }
        slots[index].isComplete = true
        guard nghttp2_session_get_stream_local_close(pointer, stream) == 0 else { return }
        reportResponse(index)
        nghttp2_submit_rst_stream(
            pointer,
            UInt8(NGHTTP2_FLAG_NONE.rawValue),
            stream,
            NGHTTP2_CANCEL.rawValue
        )
    }

    private func reportResponse(_ index: Int) {
        let slot = slots + index
        if case .nobody = slot.pointee.reply { return }
        silentStreams = 0
        if (200..<300).contains(slot.pointee.status) { hasSucceeded = true }
        report(
            index,
            .response(
                HTTP2Response(
                    status: slot.pointee.status,
                    headers: slot.pointee.fields,
                    body: slot.pointee.answer,
                    isBodyTruncated: slot.pointee.isTruncated
                )
            )
        )
    }

    private func reportAmbiguous(_ index: Int, _ why: HTTP2Ambiguity) {
        let status = slots[index].status
        report(index, .ambiguous(why, status: status == 0 ? nil : status))
    }

    /// Hands the outcome over once; later calls for the same request do nothing.
    private func report(_ index: Int, _ outcome: HTTP2Outcome) {
        if case .nobody = slots[index].reply { return }
        completed.append((slots[index].reply, outcome))
        slots[index].reply = .nobody
    }

    private func release(_ index: Int) {
        unsentBodyBytes -= slots[index].body.left
        slots[index] = Slot()
        free.append(Int32(index))
        activeCount -= 1
    }

    /// Exchanges the outcomes collected so far for an empty list with room.
    func takeCompleted(into list: inout [(reply: Reply, outcome: HTTP2Outcome)]) {
        list.removeAll(keepingCapacity: true)
        swap(&list, &completed)
    }
}
