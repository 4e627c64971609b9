import Contracts
import EventIngestCore
import Testing

@Suite struct AdmissionTests {
    static let now = UnixMilliseconds(2_000_000_000_700)

    private func lifetime(
        time: Int64? = nil,
        expirytime: Int64? = nil
    ) -> Lifetime {
        Lifetime(
            time: time.map { Self.now.adding(milliseconds: $0) },
            expirytime: expirytime.map { Self.now.adding(milliseconds: $0) },
            committedAt: Self.now
        )
    }

    @Test func livesThirtyMinutesAtMost() {
        #expect(lifetime().createdAt == UnixSeconds(2_000_000_000))
        #expect(lifetime().expiresAt == UnixSeconds(2_000_001_800))
        #expect(lifetime(time: 3_600_000).expiresAt == UnixSeconds(2_000_001_800))
        #expect(lifetime(time: 3_600_000).occurredAt == Self.now)
        #expect(lifetime(expirytime: 90_000_000).expiresAt == UnixSeconds(2_000_001_800))
        #expect(lifetime(time: -60_000).expiresAt == UnixSeconds(2_000_001_740))
        #expect(lifetime(time: -60_000).occurredAt.milliseconds == 1_999_999_940_700)
        #expect(lifetime(expirytime: 10_000).expiresAt == UnixSeconds(2_000_000_010))
        #expect(lifetime(time: -60_000, expirytime: 10_000).lateness == nil)
    }

    @Test func knowsWhatCameTooLate() {
        #expect(lifetime(time: -1_799_000).lateness == nil)
        #expect(lifetime(time: -1_800_000).lateness == .tooOld)
        #expect(lifetime(expirytime: 0).lateness == .expirytimePassed)
        #expect(lifetime(expirytime: 1000).lateness == nil)
        #expect(lifetime(time: -1_900_000, expirytime: -5).lateness == .tooOld)
        #expect(lifetime(time: .min / 2).lateness == .tooOld)
    }

    @Test func isNeverExtendedByAnything() {
        var random = SplitMix(state: 1)
        for _ in 0..<2000 {
            let time = Int64.random(in: -4_000_000...4_000_000, using: &random)
            let expiry = Int64.random(in: -4_000_000...4_000_000, using: &random)
            let life = lifetime(time: time, expirytime: expiry)
            #expect(life.expiresAt.seconds <= life.createdAt.seconds + 1800)
            #expect(life.expiresAt <= Self.now.adding(milliseconds: expiry).second)
            #expect((life.lateness != nil) == (life.expiresAt <= life.createdAt))
        }
    }

    private func facts(
        known: AdmissionFacts.Known? = nil,
        isRepeated: Bool = false,
        isFull: Bool = false
    ) -> AdmissionFacts {
        AdmissionFacts(
            known: known,
            isRepeated: isRepeated,
            cycle: CycleFacts(isKnown: isRepeated),
            isFull: isFull,
            now: Self.now
        )
    }

    @Test func answersEachCaseInItsOrder() throws {
        let candidate = try EventSamples.candidate(EventSamples.alert())
        let id = candidate.notification.eventID
        let same = AdmissionFacts.Known(contentHash: candidate.contentHash, eventID: id)
        let other = AdmissionFacts.Known(contentHash: [1], eventID: id)
        let cases: [(AdmissionFacts, PublishStatus)] = [
            (facts(), .accepted), (facts(isFull: true), .retryAfter),
            (facts(known: same, isFull: true), .duplicate), (facts(known: same), .duplicate),
            (facts(known: other, isRepeated: true, isFull: true), .conflict),
            (facts(isRepeated: true), .duplicate),
            (facts(isRepeated: true, isFull: true), .duplicate),
        ]
        for (facts, status) in cases {
            let result = Admission(candidate, facts).result
            #expect(result.status == status)
            #expect((result.eventID == id) == [.accepted, .duplicate].contains(status))
            #expect((result.retryAfterMilliseconds != nil) == (status == .retryAfter))
        }
    }

    @Test func recordsALateEventWithoutFanningItOut() throws {
        let event = EventSamples.alert(changes: ["time": .string("2001-01-01T00:00:00Z")])
        let candidate = try EventSamples.candidate(event)
        let admission = Admission(candidate, facts(isFull: true))
        guard case .record(let record) = admission else {
            Issue.record("not recorded")
            return
        }
        #expect(record.verdict == .expired)
        #expect(record.lifetime.lateness == .tooOld)
        let result = admission.result
        #expect(result.status == .accepted)
        #expect(result.reason != nil)
    }
}
