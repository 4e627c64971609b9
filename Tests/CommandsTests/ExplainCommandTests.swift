import Commands
import Contracts
import FoundationEssentials
import Testing

@testable import pushbus

@Suite struct ExplainCommandTests {
    private let id = EventID(UUID(uuid: (1, 1, 1, 1, 1, 1, 65, 1, 129, 1, 1, 1, 1, 1, 1, 1)))
    private let phone = InstallationID("phone")

    private func explanation(
        _ state: EventState,
        _ reason: String? = nil,
        written: Int64 = 0,
        skipped: [String: Int64] = [:],
        watermark: Int64? = 41,
        waitsFor: EventID? = nil,
        phone: InstallationID? = nil
    ) -> Explanation {
        Explanation(
            event: EventExplainAnswer(
                eventID: id,
                event: .init(
                    eventID: id,
                    source: "/m",
                    id: "1",
                    category: .alert,
                    state: state,
                    reason: reason,
                    createdAt: UnixSeconds(1_800_000_000),
                    expiresAt: UnixSeconds(1_800_001_800),
                    written: written,
                    skipped: skipped
                ),
                course: .init(
                    occurredAt: UnixMilliseconds(1_800_000_000_000),
                    watermark: watermark,
                    waitsFor: waitsFor
                )
            ),
            installationID: phone
        )
    }

    private func receipt(
        _ state: ReceiptState,
        _ reason: String?,
        next: Int64? = nil
    ) -> ReceiptQueryAnswer.Receipt {
        .init(
            eventID: id,
            installationID: phone,
            category: .alert,
            state: state,
            reason: reason,
            attempts: 1,
            createdAt: UnixSeconds(1_800_000_000),
            expiresAt: UnixSeconds(1_800_001_800),
            updatedAt: UnixMilliseconds(1_800_000_000_000),
            nextAttemptAt: next.map { UnixMilliseconds($0) }
        )
    }

    @Test(arguments: [
        ("maintenance:night", "inside the maintenance window 'night'"),
        ("below_threshold:ssh:5 of 10", "below the threshold of the rule 'ssh': 5 of 10"),
        ("not_covered:ssh", "the rule 'ssh' does not cover the server"),
        ("principal_revoked", "its integrator may no longer publish it"),
        ("no_trigger", "no trigger of its cycle notified anybody"),
        ("something_new", "something_new"),
    ])
    func namesWhatSuppressed(_ reason: String, _ words: String) {
        let text = explanation(.suppressed, reason).text
        #expect(text.contains("decision      suppressed: \(words)\n"))
        #expect(!text.contains("fan-out"))
    }

    @Test func tellsHowFarTheFanOutIs() {
        #expect(
            explanation(.admitted, "waiting_for_registration", watermark: nil).text
                .contains("waiting for Registration")
        )
        #expect(
            explanation(.admitted, "waiting_for_fanout", waitsFor: id).text
                .contains("waiting for the end of the trigger's fan-out")
        )
        let none = explanation(.fannedOut, skipped: ["role": 2, "unsubscribed": 1]).text
        #expect(
            none.contains(
                "complete: no eligible installation; left out: 2 not allowed by the owner's role, "
                    + "1 not subscribed to the category"
            )
        )
        #expect(
            explanation(.expired, "time_ended", written: 1).text
                .contains("its time ended before it was complete: 1 row written")
        )
    }

    @Test func countsRowsThatStandAlike() {
        var all = explanation(.fannedOut, written: 4)
        all.count(receipt(.accepted, "Accepted"))
        all.count(receipt(.retryable, "RelayUnreachable", next: 1_800_000_060_000))
        all.count(receipt(.retryable, "RelayUnreachable", next: 1_800_000_030_000))
        all.count(receipt(.permanent, "Ineligible/session_ended"))
        #expect(all.rows.map(\.count) == [1, 2, 1])
        #expect(all.text.contains("1 row accepted by APNs\n"))
        #expect(all.text.contains("2 rows waiting: waiting for the relay, none is connected"))
        #expect(all.text.contains("next attempt 2027-01-15T08:00:30.000Z"))
        #expect(all.text.contains("1 row ended: no longer eligible, signed out"))
        all.note(
            ServiceStatusAnswer(
                service: "delivery",
                version: "1",
                processID: 1,
                ready: true,
                conditions: [:],
                metrics: [#"pushbus_bus_client_connected_peers{client="relay"}"#: 0]
            )
        )
        #expect(all.text.contains("2 rows waiting for the relay, none is connected to Delivery\n"))
        #expect(all.text.contains("1 row accepted by APNs\n"))
    }

    @Test func saysWhyAPhoneWasNotTold() {
        var later = explanation(.fannedOut, written: 1, phone: phone)
        later.standing = .init(
            isKnown: true,
            isInAudience: true,
            obstacle: .subscribedLater,
            binding: 45
        )
        #expect(later.text.contains("its binding (45) is newer than the event (41)"))
        #expect(later.text.contains("delivery      no row: it was left out"))
        later.standing = .init(
            isKnown: true,
            isInAudience: true,
            obstacle: .subscribedLater,
            binding: 40,
            since: 44
        )
        #expect(later.text.contains("its subscription (44) is newer than the event (41)"))
        later.standing = .init(isKnown: true, isInAudience: false)
        #expect(later.text.contains("the event is for another account or installation"))
        later.standing = .init(isKnown: false, isInAudience: false)
        #expect(later.text.contains("knows no such installation"))
        later.silent["delivery"] = "did not answer in time"
        #expect(later.text.contains("delivery      unknown: did not answer in time"))
    }

    @Test func tellsHowATaskRunStands() {
        var part = Explanation(event: EventExplainAnswer(eventID: id))
        #expect(!part.isAnythingKnown)
        part.event.run = EventExplainAnswer.Run(isDone: false, targets: 3, finished: 2)
        #expect(part.text.contains("2 of 3 targets have their final result"))
        part.event.run = EventExplainAnswer.Run(isDone: false, targets: nil, finished: 0)
        #expect(part.text.contains("waits for its start"))
    }

    @Test func takesAnIdentifierOrAnIdWithItsSource() throws {
        let query = { (words: [String]) in
            try ExplainCommand.query(Arguments(words, of: ExplainCommand.command))
        }
        #expect(try query([id.description]) == EventExplain(eventID: id))
        #expect(
            try query(["cpu-1", "--source", "/m"]) == EventExplain(source: "/m", id: "cpu-1")
        )
        #expect(throws: UsageError.self) { try query(["cpu-1"]) }
        #expect(throws: UsageError.self) { try query([]) }
    }
}
