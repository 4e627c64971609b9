import Contracts
import FoundationEssentials
import HTTP2
import Loop
import RelayCore
import RelayService
import ServiceKit
import TestKit
import Testing

@Suite("Soak", .timeLimit(.minutes(60)))
struct SoakTests {
    /// A minute, or the messages that script/soak asks for.
    private static var length: SoakLength {
        ProcessInfo.processInfo.environment["PUSHBUS_SOAK_MESSAGES"].flatMap { Int($0) }
            .map { .messages($0) } ?? .time(.seconds(60))
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

    @Test("Whatever happens, every message gets exactly one verdict and nothing grows")
    func everyMessage() async throws {
        let fixture = try await PoolFixture(
            connections: 2,
            standsStill: false,
            script: Self.faults(.seeded(42))
        )
        let length = Self.length
        let ledger = SoakLedger()
        let start = ContinuousClock.now
        var before: ProcessSize?
        var sent = 0
        while length.isAhead(sent: sent, elapsed: ContinuousClock.now - start) {
            let count = 1_000
            let first = sent
            let pushes = try (0..<count).map { try fixture.push(first + $0, isYoung: $0 % 50 == 0) }
            let channel = BoundedChannel<RelayVerdict>(capacity: count)
            await fixture.pool.enqueue(pushes) { news in
                for (index, verdict) in news {
                    if !ledger.note(first + index, verdict.outcome) {
                        Issue.record("message \(first + index) got two verdicts")
                    }
                    _ = channel.trySend(verdict)
                }
            }
            for _ in 0..<count { _ = await channel.next() }
            sent += count
            fixture.apns.seen.update { $0.removeAll() }
            // What the first tenth needs is needed from then on.
            if before == nil,
                !length.isAhead(sent: sent * 10, elapsed: (ContinuousClock.now - start) * 10)
            {
                before = try ProcessSize()
            }
        }
        let after = try ProcessSize()
        let reference = try #require(before)
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        print(
            "soak: \(sent) messages in \(Int(seconds)) s, \(ledger.summary); memory"
                + " \(reference.kibibytes / 1_024) to \(after.kibibytes / 1_024) MiB, descriptors"
                + " \(reference.descriptors) to \(after.descriptors)"
        )
        #expect(ledger.known == sent)
        // A connection that ends takes what is under way on it along.
        #expect(ledger[.accepted] > sent * 3 / 4)
        #expect(ledger[.permanent] > sent / 200)
        #expect(after.kibibytes < reference.kibibytes + 24 * 1_024)
        #expect(after.descriptors < reference.descriptors + 16)
        await fixture.stop()
    }
}

/// How long a soak goes on.
private enum SoakLength {
    case messages(Int)
    case time(Duration)

    func isAhead(sent: Int, elapsed: Duration) -> Bool {
        switch self {
        case .messages(let all): sent < all
        case .time(let all): elapsed < all
        }
    }
}

/// Who got a verdict, a bit for each message, and how many of each kind.
private final class SoakLedger: Sendable {
    private struct State {
        var words: [UInt64] = []
        var known = 0
        var outcomes: [Outcome: Int] = [:]
    }

    private let state = Locked(State())

    /// Notes a verdict; false if the message had one.
    func note(_ message: Int, _ outcome: Outcome) -> Bool {
        state.withLock { state in
            let bit: UInt64 = 1 << UInt64(message % 64)
            while state.words.count <= message / 64 { state.words.append(0) }
            guard state.words[message / 64] & bit == 0 else { return false }
            state.words[message / 64] |= bit
            state.known += 1
            state.outcomes[outcome, default: 0] += 1
            return true
        }
    }

    var known: Int { state.withLock { $0.known } }

    subscript(outcome: Outcome) -> Int { state.withLock { $0.outcomes[outcome] ?? 0 } }

    var summary: String {
        state.withLock { state in
            state.outcomes.map { "\($0.key.rawValue) \($0.value)" }.sorted().joined(separator: ", ")
        }
    }
}

/// Memory and descriptors of this process (proc(5)).
private struct ProcessSize {
    /// Proportional set size.
    var kibibytes: Int
    var descriptors: Int

    init() throws {
        let text = try String(contentsOfFile: "/proc/self/smaps_rollup", encoding: .utf8)
        let line = text.split(separator: "\n").first { $0.hasPrefix("Pss:") }
        kibibytes = line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    }
}
