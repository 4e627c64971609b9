import Bus
import Contracts
import Glibc
import Loop
import ZeroMQ

/// A socket without any of the bus's manners, on a thread of its own, which it blocks.
actor RawSocket {
    private nonisolated let thread: SerialThread
    private var socket: ZeroMQSocket?

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(
        _ kind: ZeroMQSocketKind,
        _ world: BusWorld,
        to endpoint: BusEndpoint,
        curve: ZeroMQCurve? = nil
    ) async throws {
        thread = try SerialThread(name: "raw")
        try open(kind, world.runtime.context, endpoint, curve)
    }

    private func open(
        _ kind: ZeroMQSocketKind,
        _ context: ZeroMQContext,
        _ endpoint: BusEndpoint,
        _ curve: ZeroMQCurve?
    ) throws {
        var options = ZeroMQSocketOptions()
        options.curve = curve
        let socket = try ZeroMQSocket(kind, context: context, options: options)
        if kind == .sub { try socket.subscribeToAll() }
        try socket.connect(endpoint.address)
        self.socket = socket
    }

    /// Sends and waits for one message back.
    func ask(_ frames: [[UInt8]], delimiter: Bool = false) throws -> [[UInt8]] {
        try send(frames, delimiter: delimiter)
        return try receive()
    }

    func send(_ frames: [[UInt8]], delimiter: Bool = false) throws {
        guard let socket else { return }
        try socket.waitUntil(write: true)
        _ = try socket.send(ZeroMQEnvelope(delimiter: delimiter), frames)
    }

    /// The frames of the next message; throws when none comes within ten seconds.
    func receive() throws -> [[UInt8]] {
        guard let socket else { return [] }
        while true {
            try socket.waitUntil(write: false)
            let received = try socket.receive(limits: ZeroMQLimits(frames: 16, bytes: 1 << 22))
            if case .message(let message) = received { return message.frames }
        }
    }

    nonisolated func close() async throws {
        await closeSocket()
        thread.stop()
    }

    private func closeSocket() {
        socket?.close()
        socket = nil
    }
}

/// Bytes of a request as another implementation would write them.
func requestFrames(
    _ type: String,
    _ body: String,
    id: String = "11111111-1111-4111-8111-111111111111"
) -> [[UInt8]] {
    [
        Array("{\"pushbus\":1,\"type\":\"\(type)\",\"id\":\"\(id)\",\"content\":\"json\"}".utf8),
        Array(body.utf8),
    ]
}

func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
