import CNghttp2
import Glibc

/// The callbacks of a server session; nil when memory is short.
func makeServerCallbacks() -> OpaquePointer? {
    var made: OpaquePointer?
    guard nghttp2_session_callbacks_new(&made) == 0, let callbacks = made else { return nil }
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, context in
        guard let frame, frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST else { return 0 }
        withServer(context) { $0.open(frame.pointee.hd.stream_id) }
        return 0
    }
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
        let index = serverSlot(session, frame.pointee.hd.stream_id)
        guard index >= 0 else { return 0 }
        withServer(context) { server in
            server.slots[index].request.headers.append(
                UnsafeBufferPointer(start: name, count: nameLength),
                UnsafeBufferPointer(start: value, count: valueLength)
            )
        }
        return 0
    }
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
        session,
        _,
        stream,
        data,
        length,
        context in
        let index = serverSlot(session, stream)
        guard index >= 0, let data else { return 0 }
        withServer(context) { server in
            let slot = server.slots + index
            let room = server.settings.keptBodyBytes - slot.pointee.request.body.count
            slot.pointee.request.bodyBytes += length
            slot.pointee.request.body.append(
                contentsOf: UnsafeBufferPointer(start: data, count: min(room, length))
            )
        }
        return 0
    }
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { session, frame, context in
        guard let frame else { return 0 }
        withServer(context) { $0.frameReceived(frame) }
        return 0
    }
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) {
        session,
        stream,
        _,
        context in
        let index = serverSlot(session, stream)
        guard index >= 0 else { return 0 }
        withServer(context) { $0.close(index) }
        // Anything but 0 is fatal for the session.
        return 0
    }
    return callbacks
}

/// Feeds nghttp2 with the answer in the slot that the source names.
func readServerBody(
    _: OpaquePointer?,
    _: Int32,
    _ buffer: UnsafeMutablePointer<UInt8>?,
    _ capacity: Int,
    _ flags: UnsafeMutablePointer<UInt32>?,
    _ source: UnsafeMutablePointer<nghttp2_data_source>?,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let buffer, let source, let flags else {
        return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
    }
    let index = Int(source.pointee.fd)
    var moved = 0
    withServer(context) { server in
        let slot = server.slots + index
        let offset = slot.pointee.answerOffset
        let left = slot.pointee.answer.count - offset
        moved = min(left, capacity, slot.pointee.frameBytes)
        slot.pointee.answer.withUnsafeBufferPointer { bytes in
            if let base = bytes.baseAddress { buffer.update(from: base + offset, count: moved) }
        }
        slot.pointee.answerOffset += moved
        guard moved == left else { return }
        if !slot.pointee.leavesOpen {
            flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
        } else if moved == 0 {
            moved = Int(NGHTTP2_ERR_DEFERRED.rawValue)
        }
    }
    return moved
}

@inline(__always)
private func serverSlot(_ session: OpaquePointer?, _ stream: Int32) -> Int {
    Int(bitPattern: nghttp2_session_get_stream_user_data(session, stream)) - 1
}

/// Lends the session object that nghttp2 carries as its context; the object outlives nghttp2's
/// session, which it owns.
@inline(__always)
private func withServer(
    _ context: UnsafeMutableRawPointer?,
    _ body: (HTTP2ServerSession) -> Void
) {
    guard let context else { return }
    Unmanaged<HTTP2ServerSession>.fromOpaque(context)._withUnsafeGuaranteedRef { body($0) }
}

extension HTTP2ServerSession {
    func frameReceived(_ frame: UnsafePointer<nghttp2_frame>) {
        let head = frame.pointee.hd
        switch UInt32(head.type) {
        case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
            let isEnd = head.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
            guard isEnd || head.type == UInt8(NGHTTP2_HEADERS.rawValue) else { return }
            let index = slot(of: head.stream_id)
            guard index >= 0 else { return }
            slots[index].request.isComplete = isEnd
            // Lent, not copied: the handler copies what it keeps.
            withUnsafePointer(to: slots[index].request) { onRequest?($0) }
        case NGHTTP2_PING.rawValue where head.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0:
            pingsReceived += 1
        default: break
        }
    }
}
