import Contracts
import EventIngestCore
import Testing

@Suite struct NotificationTests {
    @Test func makesTheAlertKeyOfFourTexts() throws {
        let event = EventSamples.alert(
            rule: "r/1",
            server: "s\"2",
            address: "10.0.0.1",
            startedAt: "2026-05-04T03:02:01+02:00"
        )
        let notification = try EventSamples.candidate(event).notification
        guard case .alert(let alert) = notification.content else {
            Issue.record("not an alert")
            return
        }
        #expect(alert.alertKey.hasPrefix("v1."))
        let json = try #require(Blob(base64: String(alert.alertKey.dropFirst(3)))).bytes
        #expect(
            String(decoding: json, as: UTF8.self)
                == #"["r/1","s\"2","10.0.0.1","2026-05-04T03:02:01+02:00"]"#
        )
        #expect(alert.status == .firing)
        #expect(alert.ruleName == "Rule r/1")
        #expect(notification.audience == .everyone)
        #expect(notification.category == .alert)
        #expect(notification.opensCycle)
        #expect(notification.after == nil)
    }

    @Test func namesTheTriggerThatARecoveryFollows() throws {
        let trigger = try EventSamples.candidate(EventSamples.alert()).notification
        let recovery = try EventSamples.candidate(
            EventSamples.alert(.alertResolved, id: "2")
        ).notification
        #expect(recovery.after == trigger.eventID)
        #expect(recovery.eventID != trigger.eventID)
        #expect(!recovery.opensCycle)
    }

    @Test func keepsOneIdentityForEachCycleAndStatus() throws {
        var seen: Set<EventID> = []
        for type in [EventType.alertTriggered, .alertResolved] {
            for rule in ["a", "b"] {
                for server in ["a", "b"] {
                    for address in [nil, "a", "b"] {
                        for start in ["2026-05-04T03:02:01Z", "2026-05-04T03:02:02Z"] {
                            let event = EventSamples.alert(
                                type,
                                id: "\(seen.count)",
                                rule: rule,
                                server: server,
                                address: address,
                                startedAt: start
                            )
                            let id = try EventSamples.candidate(event).notification.eventID
                            #expect(seen.insert(id).inserted)
                            let text = id.description
                            #expect(text[text.index(text.startIndex, offsetBy: 14)] == "8")
                        }
                    }
                }
            }
        }
        #expect(seen.count == 48)
    }

    @Test func ignoresNamesInTheIdentity() throws {
        let one = try EventSamples.candidate(EventSamples.alert())
        let other = try EventSamples.candidate(
            EventSamples.alert(id: "2", dataChanges: ["rule_name": .string("Renamed")])
        )
        #expect(one.notification.eventID == other.notification.eventID)
    }

    @Test func targetsATestAtOneInstallation() throws {
        let notification = try EventSamples.candidate(EventSamples.test()).notification
        #expect(notification.eventID.description == "11111111-1111-4111-8111-111111111111")
        #expect(notification.audience == Audience(installationID: InstallationID("phone-1")))
        #expect(notification.content == .test)
    }
}
