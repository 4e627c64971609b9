import Glibc
import HTTP2
import Loop
import TestKit
import Testing

/// How a connection finds an address that answers.
@Suite(.timeLimit(.minutes(1)))
struct ConnectTests {
    /// What stands at an address where nobody serves.
    enum Dead: CaseIterable, Sendable {
        /// Packets vanish.
        case blackHole
        /// The connection comes about and nothing follows.
        case mute
    }

    @Test("an address that does not answer leaves time for the next one", arguments: Dead.allCases)
    func deadFirst(dead: Dead) async throws {
        let hole = try BlackHole()
        let mute = try ListeningSocket()
        let bad = try SocketAddress.loopback(dead == .blackHole ? hole.port : mute.port)
        let fixture = try await HTTP2Fixture(resolving: { port, _ throws(HTTP2Closure) in
            [bad, try .loopback(port)]
        })
        let connection = try fixture.connection(host: "localhost")
        try await connection.connect(timeout: .seconds(2))
        #expect(await connection.send(.push(), timeout: .seconds(10)).status == 200)
        connection.shutDown()
        await fixture.stop()
    }

    @Test("an address that refuses leaves all time to the next one")
    func refusedFirst() async throws {
        let nobody = try ListeningSocket().port
        let fixture = try await HTTP2Fixture(resolving: { port, _ throws(HTTP2Closure) in
            [try .loopback(nobody), try .loopback(port)]
        })
        let connection = try fixture.connection(host: "localhost")
        try await connection.connect(timeout: .seconds(10))
        #expect(await connection.send(.push(), timeout: .seconds(10)).status == 200)
        connection.shutDown()
        await fixture.stop()
    }

    @Test("where no address answers the end is the timeout, and others are not held up")
    func allDead() async throws {
        let hole = try BlackHole()
        let address = try SocketAddress.loopback(hole.port)
        let fixture = try await HTTP2Fixture(resolving: { _, _ in
            Array(repeating: address, count: 16)
        })
        let other = try await fixture.connected()
        let connection = try fixture.connection(host: "localhost")
        async let failure = connection.failure(timeout: .milliseconds(200))
        #expect(await other.send(.push(), timeout: .seconds(10)).status == 200)
        #expect(await failure == .connectTimeout)
        other.shutDown()
        await fixture.stop()
    }

    @Test("the name is looked up at each connect: a changed answer is used by the next one")
    func changedAnswer() async throws {
        let first = try await HTTP2Fixture()
        let asked = Locked(0)
        let second = try await HTTP2Fixture(resolving: { port, _ throws(HTTP2Closure) in
            let number = asked.withLock { asked in
                asked += 1
                return asked
            }
            return [try .loopback(number == 1 ? first.port : port)]
        })
        for expected in 1...3 {
            let connection = try second.connection(host: "localhost")
            try await connection.connect(timeout: .seconds(10))
            #expect(await connection.send(.push(), timeout: .seconds(10)).status == 200)
            connection.shutDown()
            #expect(asked.withLock { $0 } == expected)
        }
        #expect(first.handler.requests.count == 1)
        #expect(second.handler.requests.count == 2)
        await first.stop()
        await second.stop()
    }

    @Test("a name that is looked up for long holds up nobody beyond the own deadline")
    func slowName() async throws {
        let gate = try Gate()
        let asked = Observed(0)
        let fixture = try await HTTP2Fixture(
            resolving: { port, host throws(HTTP2Closure) in
                if host == "slow.example" {
                    asked.update { $0 += 1 }
                    gate.wait()
                }
                return [try .loopback(port)]
            }
        )
        func slow() throws -> HTTP2ClientConnection {
            try fixture.connection(host: "slow.example") { $0.serverName = "localhost" }
        }
        let patient = try slow()
        async let patience = patient.failure(timeout: .seconds(30))
        await asked.wait { $0 == 1 }
        for _ in 0..<3 {
            #expect(await (try slow()).failure(timeout: .milliseconds(20)) == .connectTimeout)
            let other = try fixture.connection(host: "localhost")
            try await other.connect(timeout: .seconds(10))
            #expect(await other.send(.push(), timeout: .seconds(10)).status == 200)
            other.shutDown()
        }
        gate.open()
        #expect(await patience == nil)
        #expect(await patient.send(.push(), timeout: .seconds(10)).status == 200)
        // The later ones waited for the answer to the first.
        #expect(asked.value == 1)
        patient.shutDown()
        await fixture.stop()
    }
}

extension HTTP2ClientConnection {
    /// Why it could not connect; nil if it could.
    fileprivate func failure(timeout: Duration) async -> HTTP2Closure? {
        do throws(HTTP2Closure) {
            try await connect(timeout: timeout)
            return nil
        } catch {
            return error
        }
    }
}

/// Blocks a thread, as `getaddrinfo` does, until it is opened.
private final class Gate: Sendable {
    private let reading: Int32
    private let writing: Int32

    init() throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw SystemCallError.last("pipe") }
        reading = ends[0]
        writing = ends[1]
    }

    func wait() {
        var byte: UInt8 = 0
        _ = read(reading, &byte, 1)
    }

    func open() { _ = write(writing, [1], 1) }

    deinit {
        close(reading)
        close(writing)
    }
}
