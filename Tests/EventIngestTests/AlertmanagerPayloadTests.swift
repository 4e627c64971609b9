import Contracts
import EventIngestCore
import Testing

@Suite struct AlertmanagerPayloadTests {
    static func alert(
        _ status: String = "firing",
        fingerprint: String = "8f1c4dd2b1a1f0c3",
        startsAt: String = "2027-01-15T07:59:00.123Z",
        labels: [String: JSONValue] = [
            "alertname": .string("HighLoad"), "instance": .string("web-1:9100"),
        ]
    ) -> JSONValue {
        .object([
            "status": .string(status), "labels": .object(labels),
            "annotations": .object(["summary": .string("load is \(status)")]),
            "startsAt": .string(startsAt), "endsAt": .string("0001-01-01T00:00:00Z"),
            "generatorURL": .string("http://prometheus/graph"),
            "fingerprint": .string(fingerprint),
        ])
    }

    static func payload(_ alerts: JSONValue..., changes: [String: JSONValue] = [:]) -> JSONValue {
        var members: [String: JSONValue] = [
            "version": .string("4"), "groupKey": .string("{}:{alertname=\"HighLoad\"}"),
            "truncatedAlerts": .integer(0), "status": .string("firing"),
            "receiver": .string("push bus"), "groupLabels": .object([:]),
            "commonLabels": .object([:]), "commonAnnotations": .object([:]),
            "externalURL": .string("http://alertmanager:9093"), "alerts": .array(alerts),
        ]
        for (name, value) in changes { members[name] = value }
        return .object(members)
    }

    private func events(_ payload: JSONValue) throws -> [EventCandidate] {
        try AlertmanagerPayload(payload).entries.map {
            try EventSamples.candidate(try $0.event.get())
        }
    }

    @Test func makesOneEventOfEachFingerprintAndStart() throws {
        let firing = try events(Self.payload(Self.alert()))
        #expect(firing.map(\.source) == ["/alertmanager/push%20bus"])
        guard case .alert(let alert)? = firing.first?.happening else {
            Issue.record("no alert")
            return
        }
        #expect(alert.status == .firing)
        #expect(alert.data.ruleID == "HighLoad")
        #expect(alert.data.serverID == "web-1:9100")
        #expect(alert.data.sourceAddress == "8f1c4dd2b1a1f0c3")
        #expect(alert.data.startedAt == "2027-01-15T07:59:00.123Z")
        let resolved = try events(Self.payload(Self.alert("resolved")))
        #expect(resolved.first?.notification.after == firing.first?.notification.eventID)
        let others = [
            Self.alert(fingerprint: "0"), Self.alert(startsAt: "2027-01-15T07:59:01Z"),
        ]
        for other in others {
            let event = try events(Self.payload(other))
            #expect(event.first?.notification.eventID != firing.first?.notification.eventID)
        }
    }

    @Test func isAResendWhenTheGroupIsNotifiedAgain() throws {
        let first = try events(Self.payload(Self.alert()))
        let later = Self.payload(
            Self.alert("resolved", fingerprint: "1"),
            Self.alert(),
            changes: ["externalURL": .string("http://other:9093"), "status": .string("resolved")]
        )
        let again = try events(later)
        #expect(again[1].id == first[0].id)
        #expect(again[1].contentHash == first[0].contentHash)
    }

    @Test func takesTheServerFromTheFirstLabelThatNamesOne() throws {
        let cases: [([String: JSONValue], String)] = [
            (["instance": .string(""), "host": .string("h")], "h"),
            (["job": .string("j"), "node": .string("n")], "n"), (["job": .string("j")], "j"),
            ([:], "alertmanager"),
        ]
        for (labels, server) in cases {
            let all = labels.merging(["alertname": .string("A")]) { $1 }
            let event = try events(Self.payload(Self.alert(labels: all)))
            guard case .alert(let alert)? = event.first?.happening else { continue }
            #expect(alert.data.serverID == server)
        }
    }

    @Test func saysWhatIsWrong() throws {
        let cases: [(JSONValue, String)] = [
            (.array([]), ""), (.object([:]), "/version"),
            (Self.payload(Self.alert(), changes: ["version": .string("3")]), "/version"),
            (Self.payload(), "/alerts"),
            (Self.payload(Self.alert(), changes: ["alerts": .string("x")]), "/alerts"),
            (
                Self.payload(
                    Self.alert(),
                    changes: ["alerts": .array(Array(repeating: Self.alert(), count: 513))]
                ), "/alerts"
            ),
        ]
        for (payload, pointer) in cases {
            let violation = #expect(throws: ContractViolation.self) {
                try AlertmanagerPayload(payload)
            }
            #expect(violation?.pointer == pointer)
        }
        let broken: [(JSONValue, String)] = [
            (.null, "/alerts/1/labels"), (Self.alert("silenced"), "/alerts/1/status"),
            (Self.alert(fingerprint: ""), "/alerts/1/fingerprint"),
            (Self.alert(labels: ["instance": .string("i")]), "/alerts/1/labels/alertname"),
        ]
        for (alert, pointer) in broken {
            let entries = try AlertmanagerPayload(Self.payload(Self.alert(), alert)).entries
            #expect((try? entries[0].event.get()) != nil)
            guard case .failure(let violation) = entries[1].event else {
                Issue.record("accepted what is broken at \(pointer)")
                continue
            }
            #expect(violation.pointer == pointer)
        }
    }
}
