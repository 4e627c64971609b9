import Contracts
import RelayCore
import RelayService
import ServiceKit
import TestKit
import Testing

/// Ends of connections that the simulator announces, and accounts that it does not take.
@Suite("Against the simulator: GOAWAY and accounts", .timeLimit(.minutes(1)))
struct SimulatedGoAwayTests {
    @Test(
        "What a GOAWAY did not process goes over another connection, whatever is said of this one",
        arguments: ["Shutdown", "IdleTimeout", "InternalServerError", "NewsToUs"]
    )
    func unprocessed(reason: String) async throws {
        let apns = try await SimulatedAPNs()
        #expect(await apns.pool.send(try apns.push(0)).outcome == .accepted)
        try await apns.script(#"{"action":"goaway","reason":"\#(reason)"}"#)
        #expect(try await apns.send(1..<11).allSatisfy { $0.outcome == .accepted })
        #expect(apns.count("go_away") == 1 && apns.count("ambiguous") == 0)
        let lines = apns.log.lines(of: "apns is closing a connection")
        #expect(lines.count == 1 && lines[0].contains(reason))
        #expect(try await apns.statistics().connections == 2)
        await apns.stop()
    }

    @Test("What a GOAWAY did process is not sent again", arguments: ["processed", "graceful"])
    func processed(kind: String) async throws {
        let apns = try await SimulatedAPNs()
        try await apns.script(#"{"action":"goaway","reason":"Shutdown","\#(kind)":true}"#)
        for number in 0..<5 {
            #expect(await apns.pool.send(try apns.push(number)).outcome == .accepted)
        }
        let statistics = try await apns.statistics()
        #expect(statistics.connections == 2 && statistics.requests == 5)
        await apns.stop()
    }

    @Test(
        "A reason that is the provider's matter holds all messages for its scope",
        arguments: [
            ("BadCertificate", VerdictScope.provider),
            ("BadCertificateEnvironment", .provider),
            ("BadEnvironmentKeyInToken", .provider),
            ("InvalidProviderToken", .provider),
            ("TopicDisallowed", .topic),
        ]
    )
    func held(reason: String, scope: VerdictScope) async throws {
        let apns = try await SimulatedAPNs()
        try await apns.script(#"{"action":"goaway","reason":"\#(reason)"}"#)
        let first = await apns.pool.send(try apns.push(1))
        let second = await apns.pool.send(try apns.push(2))
        for verdict in [first, second] {
            #expect(verdict.outcome == .retryable && verdict.exposure == .none)
            #expect(verdict.reason == reason && verdict.scope == scope)
            #expect(verdict.retryAfterMilliseconds ?? 0 > 0)
        }
        #expect(try await apns.statistics().requests == 1)
        apns.time.advance(by: .seconds(15 * 60))
        #expect(await apns.pool.send(try apns.push(3)).outcome == .accepted)
        await apns.stop()
    }

    @Test(
        "An idle connection that is told to end is replaced before the next message",
        arguments: [
            // The first of two steps bears no reason, and an idle client leaves with it.
            (#"{"reason":"Shutdown"}"#, "NO_ERROR"),
            (
                #"{"graceful":false,"code":"INTERNAL_ERROR","reason":"Shutdown","last_stream":0}"#,
                "Shutdown"
            ),
            (#"{"graceful":false,"reason":"Shutdown","close":true}"#, "Shutdown"),
        ]
    )
    func idle(end: String, reason: String) async throws {
        let apns = try await SimulatedAPNs()
        #expect(await apns.pool.send(try apns.push(0)).outcome == .accepted)
        try await apns.control("POST", "/connections/goaway", end)
        await apns.log.wait(for: "apns is closing a connection")
        #expect(await apns.pool.send(try apns.push(1)).outcome == .accepted)
        #expect(apns.log.lines(of: "apns is closing a connection")[0].contains(reason))
        #expect(apns.count("lost") <= 0 && apns.count("ambiguous") == 0)
        let statistics = try await apns.statistics()
        #expect(statistics.connections == 2 && statistics.requests == 2)
        await apns.stop()
    }

    // MARK: Accounts

    @Test("A connection shows one team, one key and one token, however much goes over it")
    func oneAccount() async throws {
        let apns = try await SimulatedAPNs()
        for _ in 0..<4 {
            #expect(try await apns.send(0..<50).allSatisfy { $0.outcome == .accepted })
            apns.time.advance(by: .seconds(10 * 60))
        }
        let connections = try await apns.connections()
        #expect(connections.map(\.team_id) == [apns.credentials.teamID])
        #expect(connections.map { $0.tokens.map(\.key_id) } == [[apns.credentials.keyID]])
        #expect(try await apns.statistics().provider_tokens == 1)
        await apns.stop()
    }

    @Test(
        "A key that may not send here is held after one request, by what it lacks",
        arguments: [
            (
                #"{"environments":["production"]}"#, "BadEnvironmentKeyIdInToken",
                VerdictScope.provider
            ),
            (#"{"topics":["app.other"]}"#, "TopicDisallowed", .topic),
            (#"{"team_id":"OTHERTEAM1"}"#, "TopicDisallowed", .topic),
        ]
    )
    func foreignKey(key: String, reason: String, scope: VerdictScope) async throws {
        let apns = try await SimulatedAPNs(key: key)
        let first = await apns.pool.send(try apns.push(1))
        #expect(first.outcome == .retryable && first.cleanup == nil)
        #expect(first.reason == reason && first.scope == scope)
        let second = await apns.pool.send(try apns.push(2))
        #expect(second.reason == reason && second.exposure == .none)
        #expect(try await apns.statistics().requests == 1)
        await apns.stop()
    }

    @Test("A topic that the team gets later is tried over a new connection, which may use it")
    func laterTopic() async throws {
        let apns = try await SimulatedAPNs(key: #"{"team_id":"OTHERTEAM1"}"#)
        #expect(await apns.pool.send(try apns.push(1)).reason == "TopicDisallowed")
        try await apns.control("PUT", "/teams/OTHERTEAM1", #"{"bundle_ids":["app.example"]}"#)
        apns.time.advance(by: .seconds(15 * 60))
        #expect(await apns.pool.send(try apns.push(2)).outcome == .accepted)
        #expect(!apns.isOpen("topic"))
        await apns.stop()
    }

    @Test("A key that is revoked holds all messages")
    func revoked() async throws {
        let apns = try await SimulatedAPNs(key: "{}")
        #expect(await apns.pool.send(try apns.push(1)).outcome == .accepted)
        try await apns.control("DELETE", "/keys/\(apns.credentials.keyID)")
        let refused = await apns.pool.send(try apns.push(2))
        #expect(refused.reason == "InvalidProviderToken" && refused.scope == .provider)
        #expect(await apns.pool.send(try apns.push(3)).exposure == .none)
        #expect(try await apns.statistics().requests == 2)
        await apns.stop()
    }

    @Test(
        "UnrelatedKeyIdInToken is asked once more over a connection of its own",
        arguments: [1, 2]
    )
    func unrelatedKey(refusals: Int) async throws {
        let apns = try await SimulatedAPNs()
        try await apns.script(#"{"reason":"UnrelatedKeyIdInToken","count":\#(refusals)}"#)
        let verdict = await apns.pool.send(try apns.push(1))
        #expect(verdict.outcome == (refusals == 1 ? .accepted : .retryable))
        #expect(apns.isOpen("provider") == (refusals == 2))
        let statistics = try await apns.statistics()
        #expect(statistics.connections == 2 && statistics.requests == 2)
        #expect(statistics.provider_tokens == 1)
        await apns.stop()
    }
}
