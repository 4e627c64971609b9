import Contracts
import FoundationEssentials
import HTTP2
import Loop
import RelayCore
import RelayService
import ServiceKit
import TestKit
import Testing

@Suite("Soak", .timeLimit(.minutes(10)))
struct SoakTests {
    /// Messages of the soak; raise it by variable for a long run by hand.
    static var messages: Int {
        ProcessInfo.processInfo.environment["PUSHBUS_SOAK_MESSAGES"].flatMap { Int($0) } ?? 20_000
    }

    /// Answers at random, but the same way for the same seed.
    private static func faults(_ random: RandomSource) -> ScriptedAPNs.Script {
        { push, connection in
            switch random.uniform(below: 1_000) {
            case 0..<5: connection.reset(push.stream, .refusedStream)
            case 5..<8: connection.reset(push.stream, .internalError)
            case 8..<10: connection.goAway(lastStream: max(0, push.stream - 4))
            case 10..<12:
                connection.respond(push.stream, HTTP2ServerResponse(status: 200))
                connection.shutDownGracefully()
            case 12: connection.close()
            case 13..<16: connection.refuse(push, 503, "ServiceUnavailable")
            case 16..<26: connection.refuse(push, 410, "Unregistered", timestamp: 1_700_000_000_000)
            case 26..<30: connection.refuse(push, 429, "TooManyRequests")
            case 30:
                connection.setMaximumConcurrentStreams(1)
                connection.respond(push.stream, HTTP2ServerResponse(status: 200))
            case 31..<40:
                connection.setMaximumConcurrentStreams(1_000)
                connection.respond(push.stream, HTTP2ServerResponse(status: 200))
            default: connection.respond(push.stream, HTTP2ServerResponse(status: 200))
            }
        }
    }

    @Test("Whatever happens, every message gets exactly one verdict")
    func everyMessage() async throws {
        let fixture = try await PoolFixture(
            connections: 2,
            standsStill: false,
            script: Self.faults(.seeded(42))
        )
        let verdicts = Locked([Outcome: Int]())
        let known = Locked(Set<Int>())
        var sent = 0
        let total = Self.messages
        while sent < total {
            let count = min(1_000, total - sent)
            let first = sent
            let pushes = try (0..<count).map { try fixture.push(first + $0, isYoung: $0 % 50 == 0) }
            let channel = BoundedChannel<RelayVerdict>(capacity: count)
            await fixture.pool.enqueue(pushes) { news in
                for (index, verdict) in news {
                    let isNew = known.withLock { $0.insert(first + index).inserted }
                    if !isNew { Issue.record("message \(first + index) got two verdicts") }
                    verdicts.withLock { $0[verdict.outcome, default: 0] += 1 }
                    _ = channel.trySend(verdict)
                }
            }
            for _ in 0..<count { _ = await channel.next() }
            sent += count
            fixture.apns.seen.update { $0.removeAll() }
        }
        #expect(known.withLock { $0.count } == total)
        let accepted = verdicts.withLock { $0[.accepted] ?? 0 }
        #expect(accepted > total * 9 / 10)
        #expect(verdicts.withLock { $0[.permanent] ?? 0 } > total / 200)
        await fixture.stop()
    }
}
