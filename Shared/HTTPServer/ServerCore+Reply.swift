import CMHD
import Loop
import Synchronization

extension ServerCore {
    /// Hands a reply to libmicrohttpd. Runs on its thread.
    func queue(
        _ response: HTTPResponse,
        _ connection: ServerConnection,
        _ serial: UInt64,
        _ handle: OpaquePointer
    ) -> MHD_Result {
        let deadline = Deadline.after(limits.writeTimeout)
        connection.state.withLock { state in
            state.phase = .writing
            state.deadline = deadline
            if response.stream != nil { state.exchange?.stream = StreamBuffer() }
        }
        CrashPoint.reach("\(connection.requestLine) replying")
        guard let reply = makeReply(response, connection, serial) else { return .NO }
        defer { MHD_destroy_response(reply) }
        for (name, value) in response.headers {
            MHD_add_response_header(reply, name, value)
        }
        if stopping.load(ordering: .acquiring) {
            MHD_add_response_header(reply, "Connection", "close")
        }
        let result = MHD_queue_response(handle, UInt32(clamping: response.status), reply)
        if let stream = response.stream, result == .YES {
            let writer = HTTPStreamWriter(connection: connection, serial: serial)
            let task = Task(executorPreference: executor) {
                await stream(writer)
                connection.endStream(serial)
            }
            connection.attach(serial, task)
            lookAgain.withLock { $0.call }?()
        }
        return result
    }

    private func makeReply(
        _ response: HTTPResponse,
        _ connection: ServerConnection,
        _ serial: UInt64
    ) -> OpaquePointer? {
        guard response.stream != nil else {
            return response.body.withUnsafeBytes { bytes in
                MHD_create_response_from_buffer(
                    bytes.count,
                    UnsafeMutableRawPointer(mutating: bytes.baseAddress),
                    .RESPMEM_MUST_COPY
                )
            }
        }
        let source = StreamSource(
            connection: connection,
            serial: serial,
            core: self
        )
        let context = Unmanaged.passRetained(source)
        let reply = MHD_create_response_from_callback(
            cmhd_size_unknown(),
            16_384,
            readStream,
            context.toOpaque(),
            freeStream
        )
        if reply == nil { context.release() }
        return reply
    }
}

/// What the content reader of one streamed reply needs.
final class StreamSource: Sendable {
    let connection: ServerConnection
    let serial: UInt64
    let core: ServerCore

    init(connection: ServerConnection, serial: UInt64, core: ServerCore) {
        self.connection = connection
        self.serial = serial
        self.core = core
    }

    /// Moves pending bytes to libmicrohttpd, or suspends the connection until there are some.
    func read(into target: UnsafeMutableRawBufferPointer) -> Int {
        let deadline = Deadline.after(core.limits.writeTimeout)
        let (count, drained) = connection.state.withLock {
            state -> (Int, CheckedContinuation<Bool, Never>?) in
            guard let exchange = state.exchange, exchange.serial == serial,
                var stream = exchange.stream
            else { return (-2, nil) }
            if stream.pending.isEmpty {
                if stream.finished || core.forced.load(ordering: .acquiring) { return (-1, nil) }
                state.exchange?.suspended = true
                state.deadline = .never
                MHD_suspend_connection(exchange.handle.pointer)
                return (0, nil)
            }
            let count = min(target.count, stream.pending.count)
            stream.pending.withUnsafeBytes { bytes in
                target.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[0..<count]))
            }
            stream.pending.removeFirst(count)
            var drained: CheckedContinuation<Bool, Never>?
            if stream.pending.isEmpty {
                drained = stream.drained
                stream.drained = nil
            }
            state.exchange?.stream = stream
            state.deadline = deadline
            return (count, drained)
        }
        drained?.resume(returning: true)
        return count
    }
}

private func readStream(
    _ context: UnsafeMutableRawPointer?,
    _ position: UInt64,
    _ target: UnsafeMutablePointer<CChar>?,
    _ capacity: Int
) -> Int {
    guard let context else { return -2 }
    let source = Unmanaged<StreamSource>.fromOpaque(context).takeUnretainedValue()
    return source.read(into: UnsafeMutableRawBufferPointer(start: target, count: capacity))
}

private func freeStream(_ context: UnsafeMutableRawPointer?) {
    guard let context else { return }
    Unmanaged<StreamSource>.fromOpaque(context).release()
}
