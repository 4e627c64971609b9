import CNghttp2
import Glibc

/// The callbacks of a client session; nil when memory is short.
///
/// File-scope, so that the closures carry no isolation to the thread that calls them.
func makeClientCallbacks() -> OpaquePointer? {
    var made: OpaquePointer?
    guard nghttp2_session_callbacks_new(&made) == 0, let callbacks = made else { return nil }
    nghttp2_session_callbacks_set_on_header_callback(callbacks) {
        session,
        frame,
        name,
        nameLength,
        value,
        valueLength,
        _,
        context in
        guard let frame, let name, let value else { return 0 }
        let index = slotIndex(session, frame.pointee.hd.stream_id)
        guard index >= 0 else { return 0 }
        return withClient(context) { client in
            client.header(
                index,
                UnsafeBufferPointer(start: name, count: nameLength),
                UnsafeBufferPointer(start: value, count: valueLength)
            )
        }
    }
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
        session,
        _,
        stream,
        data,
        length,
        context in
        let index = slotIndex(session, stream)
        guard index >= 0, let data else { return 0 }
        return withClient(context) { client in
            client.data(index, UnsafeBufferPointer(start: data, count: length))
        }
    }
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { session, frame, context in
        guard let frame else { return 0 }
        return withClient(context) { $0.frameReceived(frame) }
    }
    nghttp2_session_callbacks_set_before_frame_send_callback(callbacks) { session, frame, context in
        guard let frame, frame.pointee.hd.type == UInt8(NGHTTP2_HEADERS.rawValue) else { return 0 }
        let index = slotIndex(session, frame.pointee.hd.stream_id)
        guard index >= 0 else { return 0 }
        return withClient(context) { client in
            client.slots[index].producedAt = client.counts.produced
        }
    }
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) {
        session,
        stream,
        code,
        context in
        let index = slotIndex(session, stream)
        guard index >= 0 else { return 0 }
        // Anything but 0 is fatal for the session, and leaks with a GOAWAY (CVE-2023-35945).
        return withClient(context) { $0.streamClosed(index, code: code) }
    }
    return callbacks
}

/// Feeds nghttp2 with the body of the request in the slot that the source names.
func readRequestBody(
    _: OpaquePointer?,
    _: Int32,
    _ buffer: UnsafeMutablePointer<UInt8>?,
    _ capacity: Int,
    _ flags: UnsafeMutablePointer<UInt32>?,
    _ source: UnsafeMutablePointer<nghttp2_data_source>?,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    let failure = Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
    guard let buffer, let source, let flags else { return failure }
    return withSession(context, HTTP2ClientSession.self, otherwise: failure) { client in
        let count = client.slots[Int(source.pointee.fd)].body.read(
            into: buffer,
            capacity: capacity,
            flags: flags
        )
        client.unsentBodyBytes -= max(0, count)
        return count
    }
}

/// Calls the session and gives nghttp2's word for success.
@inline(__always)
private func withClient(
    _ context: UnsafeMutableRawPointer?,
    _ body: (HTTP2ClientSession) -> Void
) -> Int32 {
    withSession(context, HTTP2ClientSession.self, otherwise: 0) { client in
        body(client)
        return 0
    }
}

extension HTTP2ClientSession {
    /// Longest field value that is kept.
    static let keptValueBytes = 1_024
    /// Most fields of an answer that are kept.
    static let keptFields = 16

    func header(
        _ index: Int,
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>
    ) {
        let slot = slots + index
        if name.count == 7, name[0] == 0x3A {
            slot.pointee.status = value.reduce(0) { $0 * 10 + Int($1) - 0x30 }
            return
        }
        guard keptLengths & 1 << UInt64(truncatingIfNeeded: min(63, name.count)) != 0 else {
            return
        }
        for kept in keptHeaders where kept.name.count == name.count {
            guard name.elementsEqual(kept.name), value.count <= Self.keptValueBytes,
                slot.pointee.fields.count < Self.keptFields
            else { continue }
            slot.pointee.fields.append(
                HTTP2Field(kept.text, String(decoding: value, as: UTF8.self))
            )
        }
    }

    func data(_ index: Int, _ bytes: UnsafeBufferPointer<UInt8>) {
        let slot = slots + index
        let room = keptBodyBytes - slot.pointee.answer.count
        slot.pointee.answer.append(contentsOf: bytes.prefix(room))
        if bytes.count > room { slot.pointee.isTruncated = true }
    }

    func frameReceived(_ frame: UnsafePointer<nghttp2_frame>) {
        let head = frame.pointee.hd
        switch UInt32(head.type) {
        case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
            let index = slotIndex(pointer, head.stream_id)
            guard index >= 0 else { return }
            if head.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 {
                answerEnded(index, stream: head.stream_id)
            } else if slots[index].status < 200 {
                // An interim answer (1xx): the real one follows with fields of its own.
                slots[index].status = 0
                slots[index].fields = []
            }
        case NGHTTP2_SETTINGS.rawValue where head.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0:
            noteSettings()
            if case .settings = events.last { return }
            events.append(.settings)
        case NGHTTP2_GOAWAY.rawValue:
            let goAway = frame.pointee.goaway
            let data = UnsafeBufferPointer(
                start: goAway.opaque_data,
                count: min(goAway.opaque_data_len, 1_024)
            )
            events.append(
                .goAway(
                    HTTP2GoAway(
                        lastStreamID: goAway.last_stream_id,
                        code: HTTP2ErrorCode(rawValue: goAway.error_code),
                        debugData: Array(data)
                    )
                )
            )
        case NGHTTP2_PING.rawValue where head.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0:
            let bytes = frame.pointee.ping.opaque_data
            var number: UInt64 = 0
            withUnsafeBytes(of: bytes) { for byte in $0 { number = number << 8 | UInt64(byte) } }
            events.append(.pong(number))
        default: break
        }
    }

    /// Queues a PING that carries the number.
    func ping(_ number: UInt64) {
        var bytes = (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * UInt64($0))) }
        nghttp2_submit_ping(pointer, UInt8(NGHTTP2_FLAG_NONE.rawValue), &bytes)
    }

    /// Queues a GOAWAY that tells the peer of an orderly end.
    func sayGoodbye() {
        nghttp2_submit_goaway(
            pointer,
            UInt8(NGHTTP2_FLAG_NONE.rawValue),
            0,
            NGHTTP2_NO_ERROR.rawValue,
            nil,
            0
        )
    }
}
