import Contracts
import HTTP2
import Loop
import RelayCore
import RelayService
import ServiceKit
import TestKit
import Testing

@Suite("Pool: pace of the openings", .timeLimit(.minutes(1)))
struct PoolPaceTests {
    /// What a peer does after the only answer of each connection.
    enum Ending: CaseIterable, Sendable {
        case goAway, goAwayAndClose, serverError
    }

    @Test(
        "A peer that ends each connection after one success is not stormed",
        arguments: Ending.allCases
    )
    func oneSuccessEach(ending: Ending) async throws {
        let answered = Observed(Set<UInt64>())
        let fixture = try await PoolFixture(deadline: .milliseconds(600), standsStill: false) {
            push,
            connection in
            if ending == .serverError, answered.value.contains(push.connection) {
                connection.refuse(push, 500, "InternalServerError")
                return
            }
            answered.update { $0.insert(push.connection) }
            connection.respond(push.stream, HTTP2ServerResponse(status: 200))
            switch ending {
            case .goAway: connection.goAway(lastStream: push.stream)
            case .goAwayAndClose: connection.goAway(lastStream: push.stream, thenClose: true)
            case .serverError: break
            }
        }
        var verdicts: [RelayVerdict] = []
        for number in 0..<40 {
            verdicts.append(await fixture.pool.send(try fixture.push(number)))
        }
        #expect(verdicts.first?.outcome == .accepted)
        #expect(verdicts.allSatisfy { $0.outcome == .accepted || $0.outcome == .retryable })
        // What waits in vain learns when to come back.
        let held = verdicts.filter { $0.exposure == .none }
        #expect(held.count > 20)
        #expect(held.allSatisfy { $0.retryAfterMilliseconds ?? 0 > 0 })
        #expect(fixture.apns.opened.value >= 2)
        #expect(fixture.apns.opened.value <= 6)
        await fixture.stop()
    }

    @Test("Connections that were worth their handshake are replaced, twenty a second at most")
    func worthwhile() async throws {
        let fixture = try await PoolFixture(standsStill: false) { push, connection in
            connection.respond(push.stream, HTTP2ServerResponse(status: 200))
            if push.index % 20 == 19 { connection.goAway(lastStream: push.stream) }
        }
        let start = ContinuousClock.now
        for number in 0..<400 {
            #expect(await fixture.pool.send(try fixture.push(number)).outcome == .accepted)
        }
        let elapsed = ContinuousClock.now - start
        #expect(fixture.apns.opened.value >= 20)
        // Nineteen distances lie between twenty openings; a clock of milliseconds may round each down.
        #expect(elapsed >= .milliseconds(19 * 49))
        await fixture.stop()
    }

    @Test("After a minute of life a connection clears the count")
    func calm() async throws {
        let fixture = try await PoolFixture { push, connection in
            connection.respond(push.stream, HTTP2ServerResponse(status: 200))
        }
        for number in 0..<6 {
            #expect(await fixture.pool.send(try fixture.push(number)).outcome == .accepted)
            fixture.time.advance(by: .seconds(61))
            let opened = fixture.apns.opened.value
            await fixture.onAPNs { $0.last?.goAway() }
            // At once, although nothing waits for it.
            await fixture.apns.opened.wait { $0 == opened + 1 }
        }
        await fixture.stop()
    }

    @Test("A slowed connection of young bindings leaves the others as they are")
    func slowedYoung() async throws {
        let together = 50
        let waiting = Observed<[Int32]>([])
        let fixture = try await PoolFixture { push, connection in
            if push.connection == 2 {
                // As Apple does after a bad token: one stream, and that is slow.
                connection.setMaximumConcurrentStreams(1)
                if push.index == 1 { connection.refuse(push, 400, "BadDeviceToken") }
            } else if push.index == 0 {
                connection.respond(push.stream, HTTP2ServerResponse(status: 200))
            } else {
                // Answered only when all of them are there at the same time.
                waiting.update { $0.append(push.stream) }
                guard waiting.value.count == together else { return }
                for stream in waiting.value {
                    connection.respond(stream, HTTP2ServerResponse(status: 200))
                }
            }
        }
        #expect(await fixture.pool.send(try fixture.push(0)).outcome == .accepted)
        async let young = fixture.send(5, isYoung: true)
        await fixture.apns.seen.wait { $0.count { $0.connection == 2 } == 2 }
        let verdicts = try await fixture.send(together)
        #expect(verdicts.allSatisfy { $0.outcome == .accepted })
        #expect(fixture.apns.seen.value.count { $0.connection == 2 } == 2)
        #expect(fixture.apns.opened.value == 2)
        await fixture.server.stop()
        await fixture.stop()
        #expect(try await young.count { $0.outcome == .accepted } == 0)
    }
}
