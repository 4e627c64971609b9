import Contracts
import EventIngestCore
import Testing

@Suite struct HandoffTests {
    static let start = UnixMilliseconds(2_000_000_000_000)
    static let eventID = EventIdentitySample.id

    private func later(_ milliseconds: Int64) -> UnixMilliseconds {
        Self.start.adding(milliseconds: milliseconds)
    }

    private func fresh() -> Journey {
        Journey(Handoff(expiresAt: Self.start.second.adding(seconds: 1800)))
    }

    private func handed() -> Journey {
        let handoff = fresh()
        #expect(handoff.settle(watermark: 7, now: Self.start))
        #expect(handoff.hand(now: Self.start))
        return handoff
    }

    private func progress(
        _ from: String?,
        _ to: String?,
        _ state: FanoutProgress.State,
        written: Int64 = 1,
        skipped: [String: Int64] = [:],
        delay: Int64? = nil
    ) -> FanoutProgress {
        FanoutProgress(
            eventID: Self.eventID,
            from: from.map { InstallationID($0) },
            to: to.map { InstallationID($0) },
            written: written,
            skipped: skipped,
            state: state,
            delayMilliseconds: delay
        )
    }

    @Test func waitsForItsWatermark() {
        let handoff = fresh()
        #expect(!handoff.hand(now: later(1)))
        #expect(handoff.accept(progress(nil, "a", .more), now: Self.start) == .stale)
        #expect(handoff.settle(watermark: 7, now: Self.start))
        #expect(!handoff.settle(watermark: 9, now: Self.start))
        #expect(handoff.watermark == 7)
        #expect(handoff.hand(now: Self.start))
    }

    @Test func isHandedAgainAfterFifteenSilentSeconds() {
        let handoff = handed()
        #expect(!handoff.hand(now: later(14_999)))
        #expect(handoff.hand(now: later(15_000)))
        #expect(handoff.phase == .handed(later(30_000)))
    }

    @Test func movesOnlyFromItsCursor() {
        let handoff = handed()
        #expect(
            handoff.accept(progress(nil, "b", .more, skipped: ["role": 2]), now: later(10))
                == .committed
        )
        #expect(handoff.phase == .handed(later(15_010)))
        #expect(handoff.accept(progress(nil, "b", .more), now: later(20)) == .stale)
        #expect(handoff.accept(progress("a", "z", .done), now: later(20)) == .stale)
        #expect(handoff.cursor == InstallationID("b"))
        #expect(handoff.written == 1)
        #expect(
            handoff.accept(progress("b", "z", .done, skipped: ["role": 3]), now: later(30))
                == .committed
        )
        #expect(handoff.phase == .fannedOut)
        #expect(handoff.written == 2)
        #expect(handoff.skipped == ["role": 5])
        #expect(handoff.accept(progress("z", "z", .done), now: later(40)) == .ended)
        #expect(!handoff.expire(now: later(9_000_000)))
    }

    @Test func isGivenBackWithABoundedDelay() {
        let handoff = handed()
        #expect(
            handoff.accept(progress(nil, "b", .back, delay: 500), now: Self.start) == .committed
        )
        #expect(handoff.phase == .due(later(500)))
        #expect(!handoff.hand(now: later(499)))
        #expect(handoff.hand(now: later(500)))
        _ = handoff.accept(progress("b", "b", .back, delay: .max), now: Self.start)
        #expect(handoff.phase == .due(later(60_000)))
        _ = handoff.accept(progress("b", "b", .back, delay: -5), now: Self.start)
        #expect(handoff.phase == .due(Self.start))
    }

    @Test func expiresWhateverFanoutDoes() {
        for handoff in [fresh(), handed()] {
            #expect(!handoff.expire(now: later(1_799_999)))
            #expect(handoff.expire(now: later(1_800_000)))
            #expect(handoff.phase == .expired)
            #expect(!handoff.hand(now: later(1_800_000)))
        }
        let late = handed()
        #expect(late.accept(progress(nil, "a", .done), now: later(1_800_000)) == .ended)
        #expect(late.phase == .expired)
        let lapsed = handed()
        #expect(!lapsed.hand(now: later(1_800_000)))
    }

    @Test func isTakenBackFromAnEarlierLife() {
        let handoff = handed()
        #expect(handoff.release(now: later(5)))
        #expect(handoff.phase == .due(later(5)))
        #expect(!handoff.release(now: later(5)))
    }

    @Test func boundsWhatFanoutCanMakeItCount() {
        let handoff = handed()
        var reasons: [String: Int64] = [String(repeating: "x", count: 65): 1]
        for index in 0..<100 { reasons["reason \(index)"] = 1 }
        _ = handoff.accept(
            progress(nil, nil, .more, written: .max, skipped: reasons),
            now: Self.start
        )
        _ = handoff.accept(progress(nil, nil, .more, written: 5), now: Self.start)
        #expect(handoff.skipped.count <= Handoff.skipReasons + 1)
        #expect(handoff.skipped.values.reduce(0, +) == 101)
        #expect(handoff.written == .max)
    }

    @Test func refusesToMoveBackwards() {
        #expect(throws: ContractViolation.self) {
            try progress("b", "a", .more).checkDirection()
        }
        #expect(throws: ContractViolation.self) {
            try progress("b", nil, .more).checkDirection()
        }
        #expect(throws: ContractViolation.self) {
            try progress(nil, "a\u{0}", .more).checkDirection()
        }
        #expect(throws: Never.self) { try progress(nil, nil, .done).checkDirection() }
        #expect(throws: Never.self) { try progress("a", "a", .back).checkDirection() }
    }

    /// Several Fanouts with copies of the cursor, reports in any order, repeated and lost: each
    /// recipient is counted once and in order.
    @Test(arguments: 0..<200) func countsEachRecipientOnce(_ seed: UInt64) {
        var random = SplitMix(state: seed)
        let audience = (10..<30).map { InstallationID("i\($0)") }
        let handoff = handed()
        var now = Self.start
        var reports: [FanoutProgress] = []
        while handoff.isOpen {
            let position = handoff.cursor.flatMap { audience.firstIndex(of: $0) } ?? -1
            let size = Int.random(in: 1...5, using: &random)
            let end = min(position + size, audience.count - 1)
            let state: FanoutProgress.State =
                end == audience.count - 1 ? .done : (size == 1 ? .back : .more)
            reports.append(
                FanoutProgress(
                    eventID: Self.eventID,
                    from: handoff.cursor,
                    to: audience[end],
                    written: Int64(end - position),
                    skipped: [:],
                    state: state
                )
            )
            let pick = Int.random(in: 0..<reports.count, using: &random)
            now = now.adding(milliseconds: 10)
            let before = handoff.cursor
            if handoff.accept(reports[pick], now: now) == .committed {
                #expect(reports[pick].from == before)
            } else {
                #expect(handoff.cursor == before)
            }
            _ = handoff.hand(now: now)
        }
        #expect(handoff.phase == .fannedOut)
        #expect(handoff.written == Int64(audience.count))
    }
}

enum EventIdentitySample {
    static let id: EventID = {
        guard let id = EventID(hash: [UInt8](repeating: 7, count: 16)) else {
            preconditionFailure("sixteen bytes make an identifier")
        }
        return id
    }()
}

/// A small seeded generator (SplitMix64), so that a failing case can be repeated.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return value ^ (value >> 31)
    }
}

/// A hand-off by reference, so that its steps can stand inside expectations.
@dynamicMemberLookup
final class Journey {
    private var handoff: Handoff

    init(_ handoff: Handoff) { self.handoff = handoff }

    subscript<Value>(dynamicMember path: KeyPath<Handoff, Value>) -> Value {
        handoff[keyPath: path]
    }

    func settle(watermark: Int64, now: UnixMilliseconds) -> Bool {
        handoff.settle(watermark: watermark, now: now)
    }

    func hand(now: UnixMilliseconds) -> Bool { handoff.hand(now: now) }
    func release(now: UnixMilliseconds) -> Bool { handoff.release(now: now) }
    func expire(now: UnixMilliseconds) -> Bool { handoff.expire(now: now) }

    func accept(_ progress: FanoutProgress, now: UnixMilliseconds) -> Handoff.Reception {
        handoff.accept(progress, now: now)
    }
}
