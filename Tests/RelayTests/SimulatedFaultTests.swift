import Contracts
import RelayCore
import RelayService
import ServiceKit
import TestKit
import Testing

/// What goes wrong on the way, told by the simulator over TLS and HTTP/2.
@Suite("Against the simulator: faults of the transport", .timeLimit(.minutes(1)))
struct SimulatedFaultTests {
    @Test(
        "A bad certificate holds all messages until it is a good one",
        arguments: ["expired", "not_yet_valid", "wrong_name", "unknown_authority", "self_signed"]
    )
    func certificates(kind: String) async throws {
        let apns = try await SimulatedAPNs(settings: #"{"certificate":"\#(kind)"}"#)
        let first = await apns.pool.send(try apns.push(1))
        #expect(first.outcome == .retryable && first.exposure == .none)
        let second = await apns.pool.send(try apns.push(2))
        #expect(second.reason == "CertificateNotTrusted" && second.scope == .provider)
        #expect(apns.isOpen("provider"))
        #expect(try await apns.statistics().requests == 0)
        try await apns.control("PATCH", "/settings", #"{"certificate":"trusted"}"#)
        apns.time.advance(by: .seconds(15 * 60))
        #expect(await apns.pool.send(try apns.push(3)).outcome == .accepted)
        #expect(!apns.isOpen("provider"))
        await apns.stop()
    }

    @Test("Silent streams are ambiguous, and a few of them retire the connection")
    func silence() async throws {
        let apns = try await SimulatedAPNs(deadline: .milliseconds(500))
        #expect(await apns.pool.send(try apns.push(0)).outcome == .accepted)
        try await apns.script(#"{"action":"silence","count":3}"#)
        let silent = try await apns.send(1..<4)
        #expect(silent.allSatisfy { $0.outcome == .retryable && $0.exposure == .ambiguous })
        #expect(apns.count("silent") == 1)
        #expect(await apns.pool.send(try apns.push(4)).outcome == .accepted)
        let statistics = try await apns.statistics()
        #expect(statistics.connections == 2 && statistics.requests == 5)
        await apns.stop()
    }

    @Test("Refused streams go again without a trace, each message arrives once")
    func refused() async throws {
        let apns = try await SimulatedAPNs()
        #expect(await apns.pool.send(try apns.push(0)).outcome == .accepted)
        // More than a message could take if refusals were attempts.
        try await apns.script(#"{"action":"reset","code":"REFUSED_STREAM","count":60}"#)
        let verdicts = try await apns.send(1..<21)
        #expect(verdicts.allSatisfy { $0.outcome == .accepted && $0.exposure != .ambiguous })
        #expect(apns.count("refused") == 60 && apns.count("ambiguous") == 0)
        let statistics = try await apns.statistics()
        #expect(statistics.connections == 1 && statistics.requests == 81)
        for number in 1..<21 {
            let path = "/tokens/\(SimulatedAPNs.token(number))/received"
            let text = String(decoding: try await apns.control("GET", path), as: UTF8.self)
            #expect(text.ranges(of: #""apns_id""#).count == 1, "\(text)")
        }
        await apns.stop()
    }

    @Test(
        "Any other end of one stream is ambiguous, is not repeated and touches no other message",
        arguments: ["INTERNAL_ERROR", "CANCEL", "ENHANCE_YOUR_CALM", "NO_ERROR"]
    )
    func resets(code: String) async throws {
        let apns = try await SimulatedAPNs()
        #expect(await apns.pool.send(try apns.push(0)).outcome == .accepted)
        try await apns.script(#"{"action":"reset","code":"\#(code)"}"#)
        let verdicts = try await apns.send(1..<11)
        #expect(verdicts.count { $0.outcome == .accepted } == 9)
        #expect(verdicts.count { $0.outcome == .retryable && $0.exposure == .ambiguous } == 1)
        let statistics = try await apns.statistics()
        #expect(statistics.connections == 1 && statistics.requests == 11)
        await apns.stop()
    }

    @Test("A connection that is cut leaves what was under way ambiguous, never repeated")
    func cut() async throws {
        let apns = try await SimulatedAPNs()
        #expect(await apns.pool.send(try apns.push(0)).outcome == .accepted)
        try await apns.script(#"{"action":"close"}"#)
        let lost = await apns.pool.send(try apns.push(1))
        #expect(lost.outcome == .retryable && lost.exposure == .ambiguous)
        #expect(await apns.pool.send(try apns.push(2)).outcome == .accepted)
        let statistics = try await apns.statistics()
        #expect(statistics.connections == 2 && statistics.requests == 3)
        await apns.stop()
    }

    @Test("One PING goes before the first message after a long idle time, and must be answered")
    func idle() async throws {
        let apns = try await SimulatedAPNs(pingTimeout: .milliseconds(200))
        #expect(await apns.pool.send(try apns.push(0)).outcome == .accepted)
        apns.time.advance(by: .seconds(14 * 60))
        #expect(await apns.pool.send(try apns.push(1)).outcome == .accepted)
        #expect(try await apns.connections().map(\.pings) == [0])
        apns.time.advance(by: .seconds(16 * 60))
        #expect(try await apns.send(2..<22).allSatisfy { $0.outcome == .accepted })
        #expect(try await apns.connections().map(\.pings) == [1])
        apns.time.advance(by: .seconds(16 * 60))
        try await apns.control("POST", "/connections/hang")
        #expect(try await apns.send(22..<42).allSatisfy { $0.outcome == .accepted })
        #expect(apns.count("silent") == 1 && apns.count("ambiguous") == 0)
        #expect(try await apns.statistics().connections == 2)
        await apns.stop()
    }

    @Test("PINGs and SETTINGS that come while a connection is idle do not make it look dead")
    func idleFrames() async throws {
        let apns = try await SimulatedAPNs()
        #expect(await apns.pool.send(try apns.push(0)).outcome == .accepted)
        for limit in [1, 500] {
            try await apns.control("POST", "/connections/pings", #"{"count":500}"#)
            try await apns.control(
                "PATCH",
                "/settings",
                #"{"maximum_concurrent_streams":\#(limit)}"#
            )
            #expect(try await apns.send(1..<21).allSatisfy { $0.outcome == .accepted })
        }
        #expect(try await apns.statistics().connections == 1)
        await apns.stop()
    }
}
