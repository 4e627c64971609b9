import APNsSimulator
import FoundationEssentials
import HTTP2
import Loop
import TLS
import TestKit
import Testing

/// What the simulator does to whole connections.
@Suite(.timeLimit(.minutes(1)))
struct ConnectionRuleTests {
    @Test(
        "A bad certificate is refused by the sender",
        arguments: [
            "expired", "not_yet_valid", "wrong_name", "unknown_authority", "self_signed",
        ]
    )
    func certificates(kind: String) async throws {
        let fixture = try await SimulatorFixture { $0.settings = #"{"certificate":"\#(kind)"}"# }
        let refused = await #expect(throws: HTTP2Closure.self) { try await fixture.connect() }
        guard case .transport(let error) = refused else {
            Issue.record("ended with \(String(describing: refused))")
            return
        }
        #expect(error.code == .verification)
        // From now on a good one, without a restart.
        let reply = try await fixture.call("PATCH", "/settings", #"{"certificate":"trusted"}"#)
        #expect(reply.status == 200)
        #expect(try await fixture.answer(try fixture.request()).status == 200)
        await fixture.stop()
    }

    @Test("TLS versions and ALPN as they are set")
    func versions() async throws {
        let fixture = try await SimulatorFixture()
        try await fixture.call("PATCH", "/settings", #"{"maximum_tls":"1.1"}"#)
        await #expect(throws: HTTP2Closure.self) { try await fixture.connect() }
        try await fixture.call("PATCH", "/settings", #"{"maximum_tls":"1.3","minimum_tls":"1.3"}"#)
        await #expect(throws: HTTP2Closure.self) {
            try await fixture.connect(maximumVersion: .tls12)
        }
        #expect(try await fixture.answer(try fixture.request()).status == 200)
        try await fixture.call("PATCH", "/settings", #"{"minimum_tls":"1.2","alpn":false}"#)
        let refused = await #expect(throws: HTTP2Closure.self) { try await fixture.connect() }
        guard case .transport(let error) = refused else {
            Issue.record("ended with \(String(describing: refused))")
            return
        }
        #expect(error.code == .applicationProtocol)
        await fixture.stop()
    }

    @Test("An idle connection ends with GOAWAY IdleTimeout, by the simulator's clock")
    func idle() async throws {
        let fixture = try await SimulatorFixture { $0.settings = #"{"idle_close_ms":3600000}"# }
        let connection = try await fixture.connect()
        #expect(await fixture.send(try fixture.request(), on: connection).status == 200)
        try await fixture.call("POST", "/clock", #"{"advance_ms":3599000}"#)
        #expect(await connection.ping(timeout: .seconds(10)))
        try await fixture.call("POST", "/clock", #"{"advance_ms":1000}"#)
        let goAway = await fixture.goAway(of: connection)
        #expect(goAway?.debugData == Array(#"{"reason":"IdleTimeout"}"#.utf8))
        await fixture.stop()
    }

    @Test("Too many connections in a minute are taken for an attack for a while")
    func connectionRate() async throws {
        let fixture = try await SimulatorFixture {
            $0.settings = #"{"connections_per_minute":2,"connection_block_ms":120000}"#
        }
        for _ in 0..<2 {
            #expect(try await fixture.answer(try fixture.request()).status == 200)
        }
        for _ in 0..<2 {
            await #expect(throws: HTTP2Closure.self) { try await fixture.connect() }
        }
        try await fixture.call("POST", "/clock", #"{"advance_ms":119000}"#)
        await #expect(throws: HTTP2Closure.self) { try await fixture.connect() }
        try await fixture.call("POST", "/clock", #"{"advance_ms":1000}"#)
        #expect(try await fixture.answer(try fixture.request()).status == 200)
        let counts = String(
            decoding: try await fixture.call("GET", "/statistics").body,
            as: UTF8.self
        )
        #expect(counts.contains(#""refused_connections":3"#))
        await fixture.stop()
    }

    @Test("PINGs: a storm from the simulator is survived, one from the sender ends the connection")
    func pings() async throws {
        let fixture = try await SimulatorFixture { $0.settings = #"{"maximum_pings":3}"# }
        let connection = try await fixture.connect()
        let storm = try await fixture.call("POST", "/connections/pings", #"{"count":500}"#)
        #expect(String(decoding: storm.body, as: UTF8.self) == #"{"connections":1}"#)
        #expect(await fixture.send(try fixture.request(), on: connection).status == 200)
        for _ in 0..<3 { #expect(await connection.ping(timeout: .seconds(10))) }
        _ = await connection.ping(timeout: .seconds(10))
        let goAway = await fixture.goAway(of: connection)
        #expect(goAway?.code == .enhanceYourCalm)
        #expect(goAway?.debugData == Array("too_many_pings".utf8))
        await fixture.stop()
    }

    @Test("A hanging host answers nothing until it goes on")
    func hang() async throws {
        let fixture = try await SimulatorFixture()
        let connection = try await fixture.connect()
        try await fixture.call("POST", "/connections/hang")
        let silent = await connection.send(try fixture.request(), timeout: .milliseconds(50))
        #expect(silent == .ambiguous(.timeout, status: nil))
        try await fixture.call("POST", "/connections/hang", #"{"hang":false}"#)
        #expect(await connection.waitForCapacity(timeout: .seconds(10)))
        #expect(await fixture.send(try fixture.request(), on: connection).status == 200)
        connection.shutDown()
        await fixture.stop()
    }

    @Test("An abrupt GOAWAY names a code, a reason and the last stream")
    func abruptGoAway() async throws {
        let fixture = try await SimulatorFixture()
        let connection = try await fixture.connect()
        #expect(await fixture.send(try fixture.request(), on: connection).status == 200)
        try await fixture.call(
            "POST",
            "/connections/goaway",
            #"{"graceful":false,"code":"INTERNAL_ERROR","reason":"Shutdown","last_stream":0}"#
        )
        let goAway = await fixture.goAway(of: connection)
        #expect(goAway?.code == .internalError && goAway?.lastStreamID == 0)
        #expect(goAway?.debugData == Array(#"{"reason":"Shutdown"}"#.utf8))
        await fixture.stop()
    }

    @Test("The full number of streams comes with the first valid token, whatever the answer")
    func ramp() async throws {
        let fixture = try await SimulatorFixture { $0.maximumStreams = 20 }
        let connection = try await fixture.connect()
        #expect(await fixture.send(try fixture.request("zz"), on: connection).status == 400)
        _ = await connection.ping(timeout: .seconds(10))
        #expect(await fixture.limit(of: connection) == 20)
        connection.shutDown()
        let invalid = try await fixture.connect()
        let request = try fixture.request("00ff", ["authorization": "bearer a.b.c"])
        #expect(await fixture.send(request, on: invalid).status == 403)
        _ = await invalid.ping(timeout: .seconds(10))
        #expect(await fixture.limit(of: invalid) == 1)
        invalid.shutDown()
        await fixture.stop()
    }
}
