import Glibc
import Loop
import TestKit
import Testing
import Topology

/// A peer that writes back what it reads, one connection at a time per thread.
private func startEcho(at path: String, received: Observed<Int> = Observed(0)) throws {
    let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    try #require(withAddress(path) { bind(listener, $0, $1) } == 0)
    try #require(listen(listener, 16) == 0)
    try DetachedThread.start(name: "echo") {
        while case let peer = accept(listener, nil, nil), peer >= 0 {
            try? DetachedThread.start(name: "echo peer") { echo(peer, received) }
        }
    }
}

private func echo(_ peer: Int32, _ received: Observed<Int>) {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while case let count = read(peer, &buffer, buffer.count), count > 0 {
        received.update { $0 += count }
        var sent = 0
        while sent < count {
            let part = buffer[sent..<count].withUnsafeBytes {
                send(peer, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if part <= 0 { break }
            sent += part
        }
    }
    close(peer)
}

private func withAddress<Result>(
    _ path: String,
    _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
) -> Result {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
    }
}

/// A blocking client on a thread of its own.
private final class Client: Sendable {
    private let thread: SerialThread
    private let descriptor: Int32

    init(_ path: String) throws {
        thread = try SerialThread(name: "client")
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let result = withAddress(path) { connect(descriptor, $0, $1) }
        try #require(result == 0)
    }

    deinit {
        close(descriptor)
        thread.stop()
    }

    func write(_ bytes: [UInt8]) {
        let count = bytes.withUnsafeBytes {
            send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        #expect(count == bytes.count)
    }

    /// Reads until that many bytes are there or the connection ends.
    func read(_ count: Int) async throws -> [UInt8] {
        let descriptor = descriptor
        return try await thread.run {
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while bytes.count < count {
                let got = Glibc.read(descriptor, &buffer, min(buffer.count, count - bytes.count))
                if got <= 0 { break }
                bytes += buffer[..<got]
            }
            return bytes
        }
    }

    /// Whether the connection ends with no more bytes.
    func ends() async throws -> Bool {
        try await read(1).isEmpty
    }
}

@Suite(.timeLimit(.minutes(1)))
struct FaultProxyTests {
    private let directory: TemporaryDirectory
    private let proxy: FaultProxy

    init() throws {
        directory = try TemporaryDirectory()
        proxy = try FaultProxy(
            listen: .path(directory.file("front")),
            target: .path(directory.file("behind"))
        )
    }

    private func client() throws -> Client {
        try Client(directory.file("front"))
    }

    @Test("Without faults every byte goes both ways and is counted")
    func forwards() async throws {
        try startEcho(at: directory.file("behind"))
        let client = try client()
        let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let writer = Task { client.write(bytes) }
        #expect(try await client.read(bytes.count) == bytes)
        await writer.value
        #expect(proxy.statistics.bytesForward == bytes.count)
        #expect(proxy.statistics.bytesBack == bytes.count)
        #expect(proxy.statistics.connections == 1)
        await proxy.stop()
        #expect(try await client.ends())
        await proxy.stop()
    }

    @Test("Paused, nothing passes; resumed, nothing is lost")
    func pause() async throws {
        try startEcho(at: directory.file("behind"))
        let client = try client()
        client.write([1])
        #expect(try await client.read(1) == [1])
        await proxy.set { $0.isPaused = true }
        client.write([2, 3])
        await proxy.set { $0.delay = .zero }
        #expect(proxy.statistics.bytesForward == 1)
        await proxy.set { $0.isPaused = false }
        #expect(try await client.read(2) == [2, 3])
        await proxy.stop()
    }

    @Test("A connection is cut after exactly the given number of bytes")
    func cut() async throws {
        try startEcho(at: directory.file("behind"))
        await proxy.set { $0.cutAfterBytes = 10 }
        let client = try client()
        client.write(Array(0..<6))
        #expect(try await client.read(100) == [0, 1, 2, 3])
        // One turn of the proxy's loop, in which it finishes what the cut began.
        await proxy.set { $0.cutAfterBytes = nil }
        #expect(proxy.statistics.open == 0)
        await proxy.stop()
    }

    @Test("Connections can be dropped, and new ones refused until they are not")
    func dropAndRefuse() async throws {
        try startEcho(at: directory.file("behind"))
        let first = try client()
        first.write([1])
        #expect(try await first.read(1) == [1])
        await proxy.dropConnections()
        #expect(try await first.ends())

        await proxy.set { $0.refuses = true }
        #expect(try await client().ends())
        await proxy.set { $0.refuses = false }
        let last = try client()
        last.write([2])
        #expect(try await last.read(1) == [2])
        await proxy.stop()
    }

    @Test("Half open, requests arrive and answers do not")
    func halfOpen() async throws {
        let received = Observed(0)
        try startEcho(at: directory.file("behind"), received: received)
        let client = try client()
        client.write([1])
        #expect(try await client.read(1) == [1])
        await proxy.set { $0.swallowsAnswers = true }
        client.write([2, 2])
        await received.wait { $0 == 3 }
        await proxy.set { $0.swallows = true }
        client.write([3])
        await proxy.dropConnections()
        #expect(try await client.ends())
        #expect(received.value == 3)
        await proxy.stop()
    }

    @Test("A delay holds each piece back")
    func delay() async throws {
        try startEcho(at: directory.file("behind"))
        await proxy.set { $0.delay = .milliseconds(30) }
        let client = try client()
        let clock = ContinuousClock()
        let start = clock.now
        client.write([1])
        #expect(try await client.read(1) == [1])
        #expect(clock.now - start >= .milliseconds(60))
        await proxy.stop()
    }

    @Test("What a peer sent before it went still arrives")
    func lastWords() async throws {
        let received = Observed(0)
        try startEcho(at: directory.file("behind"), received: received)
        await proxy.set { $0.delay = .milliseconds(20) }
        do {
            let client = try client()
            client.write([1, 2, 3])
        }
        await received.wait { $0 == 3 }
        await proxy.set { $0.delay = .zero }
        do {
            let client = try client()
            client.write([UInt8](repeating: 1, count: 100_000))
        }
        await received.wait { $0 == 100_003 }
        await proxy.stop()
        #expect(proxy.statistics.open == 0)
    }

    @Test("An endpoint that is not there closes the connection, later ones work")
    func absent() async throws {
        #expect(try await client().ends())
        try startEcho(at: directory.file("behind"))
        let client = try client()
        client.write([9])
        #expect(try await client.read(1) == [9])
        await proxy.stop()
    }

    @Test("Over TCP the proxy tells its port")
    func tcp() async throws {
        let proxy = try FaultProxy(
            listen: StreamAddress(parsing: "tcp://127.0.0.1:0"),
            target: StreamAddress(parsing: "ipc://\(directory.file("behind"))")
        )
        guard case .tcp(_, let port) = proxy.address else {
            Issue.record("no tcp address")
            return
        }
        #expect(port != 0)
        #expect(throws: TopologyError.self) { try StreamAddress(parsing: "udp://1.2.3.4:5") }
        await proxy.stop()
    }
}
