import Contracts
import HTTP2
import Loop
import RelayCore
import RelayService
import ServiceKit
import TestKit
import Testing

@Suite("Pool: provider tokens, breakers and server errors", .timeLimit(.minutes(1)))
struct PoolProviderTests {
    @Test("A 5xx is tried once more, on a fresh connection")
    func serverErrorOnce() async throws {
        let fixture = try await PoolFixture { push, connection in
            if push.connection == 1, push.index == 5 {
                connection.refuse(push, 500, "InternalServerError")
            } else {
                connection.respond(push.stream, HTTP2ServerResponse(status: 200))
            }
        }
        for number in 0..<10 {
            #expect(await fixture.pool.send(try fixture.push(number)).outcome == .accepted)
        }
        let seen = fixture.apns.seen.value
        #expect(seen.count == 11)
        #expect(seen[5].path == seen[6].path)
        for name in ["apns-id", "apns-collapse-id", "apns-expiration"] {
            #expect(seen[5].headers[name] == seen[6].headers[name])
        }
        #expect(seen[6].connection == 2)
        #expect(fixture.tokens.count == 1)
        await fixture.stop()
    }

    @Test("A provider that fails for all is asked twice for a message, then left alone")
    func serverErrorAlways() async throws {
        let fixture = try await PoolFixture { push, connection in
            connection.refuse(push, 503, "ServiceUnavailable")
        }
        let verdict = await fixture.pool.send(try fixture.push())
        #expect(verdict.outcome == .retryable)
        #expect(verdict.reason == "ServiceUnavailable")
        #expect(verdict.publicReason == "ProviderUnavailable")
        #expect(verdict.scope == .provider)
        #expect(verdict.exposure == .answered)
        #expect(fixture.apns.seen.value.count == 2)
        #expect(fixture.apns.opened.value == 2)
        await fixture.stop()
    }

    @Test("A provider that fails for message after message is held, and probed one by one")
    func serverErrorBreaker() async throws {
        let fixture = try await PoolFixture { push, connection in
            connection.refuse(push, 503, "ServiceUnavailable")
        }
        for number in 0..<3 {
            let verdict = await fixture.pool.send(try fixture.push(number))
            #expect(verdict.exposure == .answered)
        }
        #expect(fixture.isOpen("provider"))
        #expect(fixture.alarms("ServiceUnavailable") == 1)
        let asked = fixture.apns.seen.value.count
        #expect(try await fixture.send(20).allSatisfy { $0.exposure == .none })
        #expect(fixture.apns.seen.value.count == asked)
        fixture.time.advance(by: .seconds(31))
        #expect(try await fixture.send(20).count { $0.exposure == .answered } == 1)
        fixture.time.advance(by: .seconds(61))
        fixture.apns.change(ScriptedAPNs.accepting)
        #expect(await fixture.pool.send(try fixture.push()).outcome == .accepted)
        #expect(!fixture.isOpen("provider"))
        await fixture.stop()
    }

    @Test("An old token called expired is signed anew once and the message goes again")
    func expiredToken() async throws {
        let fixture = try await PoolFixture()
        #expect(await fixture.pool.send(try fixture.push(1)).outcome == .accepted)
        let old = try #require(fixture.apns.seen.value.first?.token)
        fixture.time.advance(by: .seconds(25 * 60))
        fixture.apns.change { push, connection in
            if push.token == old {
                connection.refuse(push, 403, "ExpiredProviderToken")
            } else {
                connection.respond(push.stream, HTTP2ServerResponse(status: 200))
            }
        }
        let verdicts = try await fixture.send(50)
        #expect(verdicts.allSatisfy { $0.outcome == .accepted })
        #expect(fixture.tokens.count == 2)
        #expect(fixture.apns.opened.value == 2)
        await fixture.stop()
    }

    @Test("Endless complaints about tokens sign one new token, never a loop")
    func expiredForEver() async throws {
        let fixture = try await PoolFixture()
        #expect(await fixture.pool.send(try fixture.push(1)).outcome == .accepted)
        fixture.time.advance(by: .seconds(25 * 60))
        fixture.apns.change { push, connection in
            connection.refuse(push, 403, "ExpiredProviderToken")
        }
        for number in 0..<5 {
            let verdict = await fixture.pool.send(try fixture.push(number))
            #expect(verdict.outcome == .retryable)
            #expect(verdict.reason == "ExpiredProviderToken")
        }
        #expect(fixture.tokens.count == 2)
        #expect(fixture.apns.seen.value.count <= 4)
        await fixture.stop()
    }

    @Test("A young token called expired means a wrong clock: nothing is signed, messages are held")
    func wrongClock() async throws {
        let fixture = try await PoolFixture { push, connection in
            connection.refuse(push, 403, "ExpiredProviderToken")
        }
        let first = await fixture.pool.send(try fixture.push(1))
        #expect(first.outcome == .retryable)
        #expect(first.scope == .provider)
        let second = await fixture.pool.send(try fixture.push(2))
        #expect(second.exposure == .none)
        #expect(second.retryAfterMilliseconds ?? 0 > 0)
        #expect(fixture.apns.seen.value.count == 1)
        #expect(fixture.count("signed") == 1)
        #expect(
            fixture.log.lines(
                of: "apns calls a young provider token expired: check this host's clock"
            ).count == 1
        )
        await fixture.stop()
    }

    @Test("Too many token updates: another connection, the same token")
    func tokenUpdates() async throws {
        let fixture = try await PoolFixture { push, connection in
            if push.connection == 1 {
                connection.refuse(push, 429, "TooManyProviderTokenUpdates")
            } else {
                connection.respond(push.stream, HTTP2ServerResponse(status: 200))
            }
        }
        #expect(await fixture.pool.send(try fixture.push(1)).outcome == .accepted)
        #expect(fixture.tokens.count == 1)
        #expect(fixture.apns.opened.value == 2)
        await fixture.stop()
    }

    @Test("A refused key holds messages back, one probe at a time finds out when it is mended")
    func breaker() async throws {
        let fixture = try await PoolFixture { push, connection in
            connection.refuse(push, 403, "InvalidProviderToken")
        }
        let first = await fixture.pool.send(try fixture.push(1))
        #expect(first.reason == "InvalidProviderToken")
        #expect(first.retryAfterMilliseconds == 30_000)
        #expect(try await fixture.send(20).allSatisfy { $0.exposure == .none })
        #expect(fixture.apns.seen.value.count == 1)
        #expect(fixture.alarms("InvalidProviderToken") >= 1)
        #expect(fixture.isOpen("provider") && !fixture.isOpen("topic"))
        fixture.time.advance(by: .seconds(30))
        _ = try await fixture.send(20)
        #expect(fixture.apns.seen.value.count == 2)
        fixture.time.advance(by: .seconds(60))
        fixture.apns.change(ScriptedAPNs.accepting)
        #expect(await fixture.pool.send(try fixture.push(2)).outcome == .accepted)
        #expect(try await fixture.send(20).allSatisfy { $0.outcome == .accepted })
        #expect(!fixture.isOpen("provider"))
        #expect(fixture.count("signed") == 1)
        await fixture.stop()
    }

    @Test("A topic that is refused is held by itself and never touches a device")
    func topic() async throws {
        let fixture = try await PoolFixture { push, connection in
            connection.refuse(push, 400, "TopicDisallowed")
        }
        let first = await fixture.pool.send(try fixture.push(1))
        #expect(first.scope == .topic)
        #expect(first.cleanup == nil)
        let second = await fixture.pool.send(try fixture.push(2))
        #expect(second.scope == .topic)
        #expect(second.exposure == .none)
        #expect(fixture.alarms("TopicDisallowed") >= 1)
        #expect(fixture.isOpen("topic") && !fixture.isOpen("provider"))
        await fixture.stop()
    }

    @Test("At 50 minutes a connection is replaced, make before break, with a new token")
    func rotation() async throws {
        let fixture = try await PoolFixture()
        _ = await fixture.pool.send(try fixture.push(1))
        fixture.time.advance(by: .seconds(49 * 60))
        await fixture.pool.upkeep()
        _ = await fixture.pool.send(try fixture.push(2))
        #expect(fixture.tokens.count == 1)
        // Whenever a connection ends: which one, and how many had been ready by then.
        let endings = Observed<[[Int]]>([])
        fixture.apns.onClosing { [log = fixture.log] connection in
            let ready = log.lines(of: "apns connection ready").count
            endings.update { $0.append([Int(connection), ready]) }
        }
        fixture.time.advance(by: .seconds(60))
        await fixture.pool.upkeep()
        await fixture.apns.closed.wait { $0 == 1 }
        #expect(endings.value == [[1, 2]])
        _ = await fixture.pool.send(try fixture.push(3))
        #expect(fixture.tokens.count == 2)
        #expect(fixture.apns.opened.value == 2)
        #expect(Set(fixture.apns.seen.value.map(\.connection)) == [1, 2])
        await fixture.stop()
    }

    @Test("A connection uses one token for its whole life, over hours")
    func tokensOverHours() async throws {
        let fixture = try await PoolFixture()
        for _ in 0..<40 {
            fixture.time.advance(by: .seconds(5 * 60))
            await fixture.pool.upkeep()
            #expect(await fixture.pool.send(try fixture.push(1)).outcome == .accepted)
        }
        let byConnection = Dictionary(grouping: fixture.apns.seen.value, by: \.connection)
        for pushes in byConnection.values { #expect(Set(pushes.map(\.token)).count == 1) }
        #expect((4...5).contains(fixture.tokens.count))
        await fixture.stop()
    }

    @Test("A GOAWAY that calls a young token expired means a wrong clock too")
    func goAwayOverToken() async throws {
        let fixture = try await PoolFixture { push, connection in
            connection.goAway(
                lastStream: 0,
                debugData: Array(#"{"reason":"ExpiredProviderToken"}"#.utf8)
            )
        }
        let verdict = await fixture.pool.send(try fixture.push())
        #expect(verdict.reason == "ExpiredProviderToken")
        #expect(verdict.scope == .provider)
        #expect(verdict.exposure == .none)
        #expect(fixture.isOpen("provider"))
        #expect(fixture.count("signed") == 1)
        let lines = fixture.log.lines(of: "apns is closing a connection")
        #expect(lines.first?.contains("ExpiredProviderToken") == true)
        await fixture.stop()
    }

    @Test(
        "A connection bound to another key is left for a new one, once",
        arguments: [true, false]
    )
    func unrelatedKey(isMended: Bool) async throws {
        let fixture = try await PoolFixture { push, connection in
            if push.connection > 1, isMended {
                connection.respond(push.stream, HTTP2ServerResponse(status: 200))
            } else {
                connection.refuse(push, 403, "UnrelatedKeyIdInToken")
            }
        }
        let verdict = await fixture.pool.send(try fixture.push(1))
        #expect(verdict.outcome == (isMended ? .accepted : .retryable))
        #expect(fixture.apns.seen.value.map(\.connection) == [1, 2])
        #expect(fixture.tokens.count == 1)
        #expect(fixture.isOpen("provider") == !isMended)
        if !isMended {
            #expect(verdict.scope == .provider)
            #expect(await fixture.pool.send(try fixture.push(2)).exposure == .none)
        }
        await fixture.stop()
    }

    @Test("What follows a 5xx is believed: a dead device is not asked a third time")
    func deadAfterServerError() async throws {
        let fixture = try await PoolFixture { push, connection in
            if push.index == 0 {
                connection.refuse(push, 500, "InternalServerError")
            } else {
                connection.refuse(push, 410, "Unregistered", timestamp: 1_700_000_000_123)
            }
        }
        let verdict = await fixture.pool.send(try fixture.push(1))
        #expect(verdict.cleanup == .dead)
        #expect(fixture.apns.seen.value.count == 2)
        await fixture.stop()
    }

    @Test("A step of the wall clock is reported")
    func clockStep() async throws {
        let fixture = try await PoolFixture()
        await fixture.pool.upkeep()
        fixture.time.jumpWall(to: UnixMilliseconds(2_000_003_600_000))
        await fixture.pool.upkeep()
        #expect(fixture.count("clock_step") == 1)
        #expect(fixture.log.lines(of: "the wall clock stepped").count == 1)
        await fixture.stop()
    }

    @Test("After a long idle time one PING goes before the first of many messages")
    func idle() async throws {
        let fixture = try await PoolFixture()
        _ = await fixture.pool.send(try fixture.push(1))
        fixture.time.advance(by: .seconds(14 * 60))
        #expect(await fixture.pool.send(try fixture.push(2)).outcome == .accepted)
        #expect(await fixture.onAPNs { $0.map(\.pingsReceived) } == [0])
        fixture.time.advance(by: .seconds(16 * 60))
        #expect(try await fixture.send(50).allSatisfy { $0.outcome == .accepted })
        #expect(fixture.apns.opened.value == 1)
        #expect(await fixture.onAPNs { $0.map(\.pingsReceived) } == [1])
        await fixture.stop()
    }

    @Test("An idle connection that does not answer is dropped, and the message goes over another")
    func idleForEver() async throws {
        let fixture = try await PoolFixture(pingTimeout: .milliseconds(100))
        _ = await fixture.pool.send(try fixture.push(1))
        fixture.time.advance(by: .seconds(16 * 60))
        await fixture.onAPNs { $0[0].pauseReading(true) }
        #expect(try await fixture.send(50).allSatisfy { $0.outcome == .accepted })
        #expect(fixture.count("silent") == 1)
        #expect(fixture.apns.opened.value == 2)
        #expect(fixture.apns.seen.value.dropFirst().allSatisfy { $0.connection == 2 })
        await fixture.stop()
    }
}
