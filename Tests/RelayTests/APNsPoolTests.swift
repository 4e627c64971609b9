import Contracts
import HTTP2
import Loop
import PushBusCrypto
import RelayCore
import RelayService
import ServiceKit
import TestKit
import Testing

@Suite("Pool: requests, verdicts and streams", .timeLimit(.minutes(1)))
struct APNsPoolTests {
    @Test("A message arrives as Apple's page describes it")
    func request() async throws {
        let fixture = try await PoolFixture()
        let verdict = await fixture.pool.send(try fixture.push(7))
        #expect(verdict.outcome == .accepted)
        #expect(verdict.exposure == .answered)
        let seen = try #require(fixture.apns.seen.value.first)
        #expect(seen.path == "/3/device/00000007")
        #expect(seen.headers[":method"] == "POST")
        #expect(seen.headers["apns-topic"] == "app.example")
        #expect(seen.headers["apns-push-type"] == "alert")
        #expect(seen.headers["apns-priority"] == "10")
        #expect(seen.headers["apns-expiration"] == "2000001800")
        #expect(seen.headers["apns-id"] == "11111111-1111-4111-8111-111100000007")
        #expect(seen.headers["apns-collapse-id"] == "22222222-2222-4222-8222-222222222222")
        #expect(seen.body == Array(#"{"aps":{}}"#.utf8))
        let bearer = seen.token
        #expect(bearer.hasPrefix("bearer "))
        let token = try #require(ReceivedProviderToken(compact: String(bearer.dropFirst(7))))
        #expect(token.isSigned(by: fixture.files.key.publicKey))
        #expect(
            String(decoding: token.claims, as: UTF8.self)
                == #"{"iss":"TEAM123456","iat":2000000000}"#
        )
        await fixture.stop()
    }

    @Test("One stream until the first success, then many; one token, one connection")
    func ramp() async throws {
        let concurrent = Observed(0)
        let fixture = try await PoolFixture { push, connection in
            concurrent.update { $0 = max($0, connection.activeStreams) }
            if push.index == 0 { #expect(connection.activeStreams == 1) }
            connection.respond(push.stream, HTTP2ServerResponse(status: 200))
        }
        let verdicts = try await fixture.send(3_000)
        #expect(verdicts.count == 3_000)
        #expect(verdicts.allSatisfy { $0.outcome == .accepted })
        #expect(fixture.apns.opened.value == 1)
        #expect(fixture.tokens.count == 1)
        #expect(fixture.count("signed") == 1)
        await fixture.stop()
    }

    @Test("As many streams as SETTINGS allow are open at once, not one more")
    func fullHouse() async throws {
        var settings = HTTP2ServerSettings()
        settings.maximumConcurrentStreams = 300
        let fixture = try await PoolFixture(settings: settings)
        #expect(await fixture.pool.send(try fixture.push()).outcome == .accepted)
        fixture.apns.change { push, connection in
            guard push.index == 300 else { return }
            #expect(connection.activeStreams == 300)
            fixture.apns.change(ScriptedAPNs.accepting)
            for other in fixture.apns.seen.value.dropFirst() {
                connection.respond(other.stream, HTTP2ServerResponse(status: 200))
            }
        }
        #expect(try await fixture.send(400).allSatisfy { $0.outcome == .accepted })
        #expect(fixture.apns.opened.value == 1 && fixture.apns.seen.value.count == 401)
        await fixture.stop()
    }

    @Test("What differs with every message is not put into the header table")
    func headerTable() async throws {
        let fixture = try await PoolFixture()
        _ = try await fixture.send(2)
        let first = await fixture.onAPNs { $0[0].headerTableBytes }
        #expect(first > 0)
        _ = try await fixture.send(500)
        #expect(await fixture.onAPNs { $0[0].headerTableBytes } == first)
        await fixture.stop()
    }

    @Test("A limit of one stream is followed without loss")
    func narrow() async throws {
        var settings = HTTP2ServerSettings()
        settings.maximumConcurrentStreams = 1
        let fixture = try await PoolFixture(settings: settings) { push, connection in
            #expect(connection.activeStreams == 1)
            connection.respond(push.stream, HTTP2ServerResponse(status: 200))
        }
        #expect(try await fixture.send(200).allSatisfy { $0.outcome == .accepted })
        await fixture.stop()
    }

    @Test("Each message gets the verdict of its own answer")
    func verdicts() async throws {
        let fixture = try await PoolFixture { push, connection in
            switch push.index % 4 {
            case 0: connection.respond(push.stream, HTTP2ServerResponse(status: 200))
            case 1: connection.refuse(push, 410, "Unregistered", timestamp: 1_700_000_000_123)
            case 2: connection.refuse(push, 400, "BadDeviceToken")
            default: connection.refuse(push, 400, "NobodyKnowsThis")
            }
        }
        let verdicts = try await fixture.send(400)
        for (cleanup, outcome) in [
            (CleanupKind.dead, Outcome.permanent), (.suspect, .permanent),
        ] {
            #expect(verdicts.count { $0.cleanup == cleanup && $0.outcome == outcome } == 100)
        }
        #expect(verdicts.count { $0.outcome == .accepted } == 100)
        #expect(verdicts.count { $0.reason == "NobodyKnowsThis" } == 100)
        #expect(
            verdicts.first { $0.cleanup == .dead }?.apnsTimestamp?.milliseconds == 1_700_000_000_123
        )
        await fixture.stop()
    }

    @Test("An expired message never reaches APNs")
    func expired() async throws {
        let fixture = try await PoolFixture()
        let verdict = await fixture.pool.send(try fixture.push(expiresIn: 0))
        #expect(verdict.outcome == .expired)
        #expect(fixture.apns.opened.value == 0)
        await fixture.stop()
    }

    @Test("Beyond the queue's limit messages are turned away at once")
    func queueLimit() async throws {
        let fixture = try await PoolFixture(queueLimit: 10) { _, _ in }
        let pushes = try (0..<30).map { try fixture.push($0) }
        let busy = Observed(0)
        await fixture.pool.enqueue(pushes) { known in
            let count = known.count { $0.verdict.reason == "RelayBusy" }
            busy.update { $0 += count }
        }
        #expect(busy.value == 20)
        await fixture.server.stop()
        await fixture.stop()
    }

    @Test("Bindings younger than a day go over a connection of their own")
    func young() async throws {
        let fixture = try await PoolFixture()
        _ = try await fixture.send(5)
        _ = try await fixture.send(5, isYoung: true)
        let connections = Dictionary(grouping: fixture.apns.seen.value, by: \.connection)
        #expect(connections.count == 2)
        #expect(connections.values.allSatisfy { $0.count == 5 })
        #expect(fixture.tokens.count == 1)
        await fixture.stop()
    }

    @Test("With more connections the load is spread, and never over more than that")
    func spread() async throws {
        var settings = HTTP2ServerSettings()
        settings.maximumConcurrentStreams = 20
        let fixture = try await PoolFixture(settings: settings, connections: 3)
        #expect(try await fixture.send(4_000).allSatisfy { $0.outcome == .accepted })
        #expect((2...3).contains(fixture.apns.opened.value))
        await fixture.stop()
    }

    @Test("Stopping answers what waits and lets APNs answer what is under way")
    func stopping() async throws {
        let fixture = try await PoolFixture { _, _ in }
        let verdicts = Observed([RelayVerdict]())
        let pushes = try (0..<5).map { try fixture.push($0) }
        await fixture.pool.enqueue(pushes) { known in
            verdicts.update { $0 += known.map(\.verdict) }
        }
        await fixture.apns.seen.wait { $0.count == 1 }
        async let stopped: Void = fixture.pool.stop()
        await verdicts.wait { $0.count == 4 }
        #expect(verdicts.value.allSatisfy { $0.reason == "RelayBusy" && $0.exposure == .none })
        let seen = try #require(fixture.apns.seen.value.first)
        await withCheckedContinuation { continuation in
            fixture.serverLoop.executor.execute {
                for connection in fixture.server.openConnections {
                    connection.respond(seen.stream, HTTP2ServerResponse(status: 200))
                }
                continuation.resume()
            }
        }
        await stopped
        #expect(verdicts.value.count == 5)
        #expect(verdicts.value.last?.outcome == .accepted)
        await fixture.stop()
    }
}
