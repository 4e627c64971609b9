import CZMQ
import Glibc

/// How far the throwing away of a message beyond the limits has come.
struct ZeroMQDrain {
    var envelope: ZeroMQEnvelope
    var userID: String?
    var frames: Int
    var bytes: Int
}

extension ZeroMQSocket {
    /// Frames of an excessive message thrown away in one call, so that no peer holds the loop.
    private static let drainSlice = 2048

    /// Reads the next message without waiting.
    ///
    /// A message beyond `limits` is read frame by frame without being kept.
    package func receive(limits: ZeroMQLimits) throws(ZeroMQError) -> ZeroMQReceived {
        let handle = try live("receive")
        if drain != nil { return try drained(handle) }
        var frame = ZeroMQFrame()
        guard try frame.receive(handle) else { return .nothing }
        var message = ZeroMQMessage(envelope: ZeroMQEnvelope(), frames: [], userID: nil)
        if kind == .router {
            message.envelope.routingID = frame.bytes
            guard frame.hasMore else { return .message(message) }
            guard try frame.receive(handle) else { return .nothing }
        }
        if frame.count == 0 && frame.hasMore {
            message.envelope.delimiter = true
            message.userID = frame.userID
            guard try frame.receive(handle) else { return .nothing }
        }
        message.userID = frame.userID ?? message.userID
        var bytes = 0
        while true {
            bytes += frame.count
            if message.frames.count == limits.frames || bytes > limits.bytes {
                let state = ZeroMQDrain(
                    envelope: message.envelope,
                    userID: message.userID,
                    frames: message.frames.count + 1,
                    bytes: bytes
                )
                guard frame.hasMore else { return state.finished }
                drain = state
                return try drained(handle)
            }
            message.frames.append(frame.bytes)
            guard frame.hasMore else { return .message(message) }
            guard try frame.receive(handle) else { return .message(message) }
        }
    }

    private func drained(
        _ handle: UnsafeMutableRawPointer
    ) throws(ZeroMQError) -> ZeroMQReceived {
        guard var state = drain else { return .nothing }
        var frame = ZeroMQFrame()
        for _ in 0..<Self.drainSlice {
            guard try frame.receive(handle) else { break }
            state.frames += 1
            state.bytes += frame.count
            if !frame.hasMore {
                drain = nil
                return state.finished
            }
        }
        drain = state
        return .draining
    }

    /// Sends one message of several frames without waiting; all of it or nothing.
    package func send(
        _ envelope: ZeroMQEnvelope,
        _ frames: [[UInt8]]
    ) throws(ZeroMQError) -> ZeroMQSendOutcome {
        let handle = try live("send")
        var head: [[UInt8]] = []
        if kind == .router { head.append(envelope.routingID) }
        if envelope.delimiter { head.append([]) }
        let total = head.count + frames.count
        var index = 0
        for frame in head {
            index += 1
            let outcome = try send(handle, frame, more: index < total)
            guard outcome == .sent else { return outcome }
        }
        for frame in frames {
            index += 1
            let outcome = try send(handle, frame, more: index < total)
            guard outcome == .sent else { return outcome }
        }
        return .sent
    }

    private func send(
        _ handle: UnsafeMutableRawPointer,
        _ bytes: [UInt8],
        more: Bool
    ) throws(ZeroMQError) -> ZeroMQSendOutcome {
        let flags = ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0)
        while zmq_send(handle, bytes, bytes.count, flags) < 0 {
            switch zmq_errno() {
            case zeroMQInterrupted: continue
            case zeroMQWouldBlock: return .full
            case Glibc.EHOSTUNREACH: return .unreachable
            default: throw .last("send")
            }
        }
        return .sent
    }
}

extension ZeroMQDrain {
    var finished: ZeroMQReceived {
        .excessive(envelope, userID: userID, frames: frames, bytes: bytes)
    }
}

/// One received frame; owns its `zmq_msg_t` and can be filled again and again.
struct ZeroMQFrame: ~Copyable {
    private var message = zmq_msg_t()

    init() { zmq_msg_init(&message) }

    deinit {
        // A copy of the handle refers to the same content, and this is its last use.
        var message = message
        zmq_msg_close(&message)
    }

    /// Reads the next frame; false when nothing waits.
    mutating func receive(_ handle: UnsafeMutableRawPointer) throws(ZeroMQError) -> Bool {
        while zmq_msg_recv(&message, handle, ZMQ_DONTWAIT) < 0 {
            switch zmq_errno() {
            case zeroMQInterrupted: continue
            case zeroMQWouldBlock: return false
            default: throw .last("receive")
            }
        }
        return true
    }

    var count: Int { mutating get { zmq_msg_size(&message) } }

    var hasMore: Bool { mutating get { zmq_msg_more(&message) != 0 } }

    var bytes: [UInt8] {
        mutating get {
            let count = zmq_msg_size(&message)
            guard count > 0, let start = zmq_msg_data(&message) else { return [] }
            return [UInt8](UnsafeRawBufferPointer(start: start, count: count))
        }
    }

    /// The user id of the connection this frame came over, from the ZAP handler.
    var userID: String? {
        mutating get { zmq_msg_gets(&message, "User-Id").map { String(cString: $0) } }
    }
}
