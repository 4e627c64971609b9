import CNghttp2
import Glibc

/// The server's end of HTTP/2 as a state machine over bytes: nghttp2 plus one slot per stream.
///
/// It does no I/O. Complete requests go to `onRequest` from within nghttp2, where submitting is
/// allowed and ending the session is not. Loop thread only.
final class HTTP2ServerSession {
    struct Slot {
        var request = HTTP2ServerRequest(stream: 0)
        var answer = OutgoingBody()
        var isActive = false
        var isAnswered = false
    }

    let settings: HTTP2ServerSettings
    let counts = HTTP2ByteCounts()
    private(set) var pointer: OpaquePointer
    /// Of the session at `pointer`, which is freed before.
    private let memory = HTTP2Memory()
    private(set) var slots: UnsafeMutablePointer<Slot>
    private var slotCount = 64
    private var free: [Int]
    private let encoder = HTTP2HeaderEncoder(lasting: [])
    let headerBlock = HTTP2HeaderBlock()
    var pingsReceived = 0
    private var awaitsLastGoAway = false
    var onRequest: ((inout HTTP2ServerRequest) -> Void)?
    var onPing: (() -> Void)?
    private(set) var activeCount = 0

    init(_ settings: HTTP2ServerSettings) throws(HTTP2Closure) {
        self.settings = settings
        pointer = try Self.makeSession(settings, memory)
        slots = .allocate(capacity: slotCount)
        slots.initialize(repeating: Slot(), count: slotCount)
        free = (0..<slotCount).reversed()
        nghttp2_session_set_user_data(pointer, Unmanaged.passUnretained(self).toOpaque())
        var entries = [
            entry(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, settings.streamWindowBytes)
        ]
        if let limit = settings.maximumConcurrentStreams {
            entries.append(entry(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limit))
        }
        if settings.statesDefaults {
            entries.append(entry(NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, 4_096))
            entries.append(entry(NGHTTP2_SETTINGS_MAX_FRAME_SIZE, 16_384))
        }
        if let limit = settings.maximumHeaderListBytes {
            entries.append(entry(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limit))
        }
        submit(entries)
        nghttp2_session_set_local_window_size(
            pointer,
            UInt8(NGHTTP2_FLAG_NONE.rawValue),
            0,
            settings.connectionWindowBytes
        )
    }

    deinit {
        nghttp2_session_del(pointer)
        slots.deinitialize(count: slotCount)
        slots.deallocate()
    }

    private static func makeSession(
        _ settings: HTTP2ServerSettings,
        _ memory: HTTP2Memory
    ) throws(HTTP2Closure) -> OpaquePointer {
        var option: OpaquePointer?
        guard nghttp2_option_new(&option) == 0, let option else {
            throw .protocolViolation("out of memory")
        }
        defer { nghttp2_option_del(option) }
        nghttp2_option_set_no_closed_streams(option, 1)
        nghttp2_option_set_stream_reset_rate_limit(
            option,
            settings.resetBurst,
            settings.resetsPerSecond
        )
        guard let callbacks = makeServerCallbacks() else {
            throw .protocolViolation("out of memory")
        }
        defer { nghttp2_session_callbacks_del(callbacks) }
        var pointer: OpaquePointer?
        // nghttp2 copies the table of functions.
        var functions = memory.functions
        let code = nghttp2_session_server_new3(&pointer, callbacks, nil, option, &functions)
        guard code == 0, let pointer else { throw .protocolViolation("out of memory") }
        return pointer
    }

    /// Nothing is left to read or to write: the connection is over. Between a shutdown notice and
    /// the GOAWAY that names the last stream it is not, whatever nghttp2 thinks.
    var headerTableBytes: Int { nghttp2_session_get_hd_inflate_dynamic_table_size(pointer) }

    var isFinished: Bool {
        !awaitsLastGoAway && nghttp2_session_want_read(pointer) == 0
            && nghttp2_session_want_write(pointer) == 0
    }

    /// Frames that wait for the peer to read.
    var queuedFrames: Int { Int(nghttp2_session_get_outbound_queue_size(pointer)) }

    // MARK: Streams

    func open(_ stream: Int32) {
        if free.isEmpty { grow() }
        guard let index = free.popLast() else { return }
        slots[index].isActive = true
        slots[index].request.stream = stream
        activeCount += 1
        nghttp2_session_set_stream_user_data(pointer, stream, streamUserData(index))
    }

    func close(_ index: Int) {
        let slot = slots + index
        guard slot.pointee.isActive else { return }
        slot.pointee.isActive = false
        slot.pointee.isAnswered = false
        slot.pointee.request.headers.removeAll()
        slot.pointee.request.body.removeAll(keepingCapacity: true)
        slot.pointee.request.bodyBytes = 0
        slot.pointee.request.isComplete = false
        slot.pointee.answer = OutgoingBody()
        free.append(index)
        activeCount -= 1
    }

    private func grow() {
        let larger = UnsafeMutablePointer<Slot>.allocate(capacity: slotCount * 2)
        larger.moveInitialize(from: slots, count: slotCount)
        (larger + slotCount).initialize(repeating: Slot(), count: slotCount)
        slots.deallocate()
        slots = larger
        free.append(contentsOf: (slotCount..<slotCount * 2).reversed())
        slotCount *= 2
    }

    /// Slot of an open stream, -1 if there is none.
    func slot(of stream: Int32) -> Int { slotIndex(pointer, stream) }

    // MARK: Answers

    /// Queues an answer; false when the stream is gone or was answered already.
    func respond(_ stream: Int32, _ response: HTTP2ServerResponse) -> Bool {
        let body = OutgoingBody(
            response.body,
            frameBytes: response.frameBytes,
            leavesOpen: response.leavesOpen
        )
        return respond(stream, status: response.status, body: body) { encoder in
            for field in response.headers
            where !encoder.add(field.name, field.value, field.indexing) { return false }
            return true
        }
    }

    /// The same with the fields written straight into the header block.
    func respond(
        _ stream: Int32,
        status: Int,
        body: OutgoingBody,
        fields: (HTTP2HeaderEncoder) -> Bool
    ) -> Bool {
        let index = slot(of: stream)
        // nghttp2 would send a second answer as trailers, which the peer calls malformed.
        guard index >= 0, !slots[index].isAnswered else { return false }
        encoder.restart()
        guard encoder.addStatus(status), fields(encoder) else { return false }
        var provider = nghttp2_data_provider()
        provider.source.fd = Int32(index)
        provider.read_callback = readServerBody
        let hasBody = body.isNeeded
        if hasBody { slots[index].answer = body }
        let code = withUnsafePointer(to: provider) { provider in
            nghttp2_submit_response(
                pointer,
                stream,
                encoder.fields,
                encoder.count,
                hasBody ? provider : nil
            )
        }
        slots[index].isAnswered = code == 0
        return code == 0
    }

    /// Resets a stream; false when it is gone.
    func reset(_ stream: Int32, _ code: HTTP2ErrorCode) -> Bool {
        guard slot(of: stream) >= 0 else { return false }
        return nghttp2_submit_rst_stream(
            pointer,
            UInt8(NGHTTP2_FLAG_NONE.rawValue),
            stream,
            code.rawValue
        ) == 0
    }

    // MARK: The connection

    func submitLimit(_ maximumConcurrentStreams: UInt32) {
        submit([entry(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, maximumConcurrentStreams)])
    }

    func submitStreamWindow(_ bytes: UInt32) {
        submit([entry(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, bytes)])
    }

    private func submit(_ entries: [nghttp2_settings_entry]) {
        nghttp2_submit_settings(
            pointer,
            UInt8(NGHTTP2_FLAG_NONE.rawValue),
            entries,
            entries.count
        )
    }

    private func entry(_ id: nghttp2_settings_id, _ value: UInt32) -> nghttp2_settings_entry {
        nghttp2_settings_entry(settings_id: Int32(id.rawValue), value: value)
    }

    /// Queues a PING; its answer is not waited for.
    func ping() {
        nghttp2_submit_ping(pointer, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil)
    }

    /// Announces the end (RFC 9113 section 6.8); `goAway` has to follow a round trip later.
    func announceShutdown() {
        awaitsLastGoAway = true
        nghttp2_submit_shutdown_notice(pointer)
    }

    /// Queues a GOAWAY; nil means the last stream that was received.
    func goAway(lastStream: Int32?, code: HTTP2ErrorCode, debugData: [UInt8]) {
        awaitsLastGoAway = false
        nghttp2_submit_goaway(
            pointer,
            UInt8(NGHTTP2_FLAG_NONE.rawValue),
            lastStream ?? nghttp2_session_get_last_proc_stream_id(pointer),
            code.rawValue,
            debugData,
            debugData.count
        )
    }
}
