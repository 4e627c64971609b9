import CNghttp2
import Glibc

/// The callbacks of a server session; nil when memory is short.
func makeServerCallbacks() -> OpaquePointer? {
    var made: OpaquePointer?
    guard nghttp2_session_callbacks_new(&made) == 0, let callbacks = made else { return nil }
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, context in
        guard let frame else { return 0 }
        return withServer(context) { server in
            server.headerBlock.restart()
            if frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST {
                server.open(frame.pointee.hd.stream_id)
            }
            return 0
        }
    }
    nghttp2_session_callbacks_set_on_header_callback(callbacks) {
        _,
        _,
        name,
        nameLength,
        value,
        valueLength,
        _,
        context in
        guard let name, let value else { return 0 }
        return withServer(context) { server in
            let isTaken = server.headerBlock.append(name, nameLength, value, valueLength)
            // Resets the stream (nghttp2 programmers' guide).
            return isTaken ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
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
        return withServer(context) { server in
            let slot = server.slots + index
            let room = server.settings.keptBodyBytes - slot.pointee.request.body.count
            slot.pointee.request.bodyBytes += length
            slot.pointee.request.body.append(
                contentsOf: UnsafeBufferPointer(start: data, count: min(room, length))
            )
            return 0
        }
    }
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { session, frame, context in
        guard let frame else { return 0 }
        return withServer(context) { server in
            server.frameReceived(frame)
            return 0
        }
    }
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) {
        session,
        stream,
        _,
        context in
        let index = slotIndex(session, stream)
        guard index >= 0 else { return 0 }
        // Anything but 0 is fatal for the session.
        return withServer(context) { server in
            server.close(index)
            return 0
        }
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
    let failure = Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
    guard let buffer, let source, let flags else { return failure }
    return withSession(context, HTTP2ServerSession.self, otherwise: failure) { server in
        server.slots[Int(source.pointee.fd)].answer.read(
            into: buffer,
            capacity: capacity,
            flags: flags
        )
    }
}

@inline(__always)
private func withServer(
    _ context: UnsafeMutableRawPointer?,
    _ body: (HTTP2ServerSession) -> Int32
) -> Int32 {
    withSession(context, HTTP2ServerSession.self, otherwise: 0, body)
}

extension HTTP2ServerSession {
    func frameReceived(_ frame: UnsafePointer<nghttp2_frame>) {
        let head = frame.pointee.hd
        switch UInt32(head.type) {
        case NGHTTP2_HEADERS.rawValue:
            let index = slot(of: head.stream_id)
            guard index >= 0 else { return }
            // Trailers bring nothing that anybody asks for.
            if frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST {
                slots[index].request.headers.assign(headerBlock)
            }
            handOver(index, isEnd: head.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0)
        case NGHTTP2_DATA.rawValue where head.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0:
            let index = slot(of: head.stream_id)
            if index >= 0 { handOver(index, isEnd: true) }
        case NGHTTP2_PING.rawValue where head.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0:
            pingsReceived += 1
            onPing?()
        default: break
        }
    }

    private func handOver(_ index: Int, isEnd: Bool) {
        slots[index].request.isComplete = isEnd
        // Lent, not copied: the handler copies what it keeps. The slots stay where they are
        // during the call, since nghttp2 opens no stream before it returns.
        onRequest?(&slots[index].request)
    }
}
