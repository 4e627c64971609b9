import Bus
import Contracts
import Glibc
import Loop
import ZeroMQ

/// A socket without any of the bus's manners, on a thread of its own.
final class RawSocket: Sendable {
    private final class Held {
        var socket: ZeroMQSocket?
    }

    private let thread: SerialThread
    // Safety: read and written on `thread` only.
    private nonisolated(unsafe) let held = Held()

    init(
        _ kind: ZeroMQSocketKind,
        _ world: BusWorld,
        to endpoint: BusEndpoint,
        curve: ZeroMQCurve? = nil
    ) async throws {
        thread = try SerialThread(name: "raw")
        let context = world.runtime.context
        try await thread.run { [self] in
            var options = ZeroMQSocketOptions()
            options.curve = curve
            let socket = try ZeroMQSocket(kind, context: context, options: options)
            if kind == .sub { try socket.subscribeToAll() }
            try socket.connect(endpoint.address)
            held.socket = socket
        }
    }

    /// Sends and waits for one message back.
    func ask(_ frames: [[UInt8]], delimiter: Bool = false) async throws -> [[UInt8]] {
        try await send(frames, delimiter: delimiter)
        return try await receive()
    }

    func send(_ frames: [[UInt8]], delimiter: Bool = false) async throws {
        try await thread.run { [self] in
            guard let socket = held.socket else { return }
            try socket.waitUntil(write: true)
            _ = try socket.send(ZeroMQEnvelope(delimiter: delimiter), frames)
        }
    }

    /// The frames of the next message; throws when none comes within ten seconds.
    func receive() async throws -> [[UInt8]] {
        try await thread.run { [self] in
            guard let socket = held.socket else { return [] }
            while true {
                try socket.waitUntil(write: false)
                let received = try socket.receive(limits: ZeroMQLimits(frames: 16, bytes: 1 << 22))
                if case .message(let message) = received { return message.frames }
            }
        }
    }

    func close() async throws {
        try await thread.run { [self] in
            held.socket?.close()
            held.socket = nil
        }
        thread.stop()
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
