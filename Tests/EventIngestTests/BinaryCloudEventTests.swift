import Contracts
import EventIngestCore
import Testing

@Suite struct BinaryCloudEventTests {
    private let headers = [
        (name: "CE-SpecVersion", value: "1.0"), (name: "ce-id", value: "1"),
        (name: "ce-source", value: "/monitor/1"),
        (name: "ce-type", value: EventType.alertTriggered.rawValue),
        (name: "Content-Type", value: "application/json; charset=utf-8"),
        (name: "Accept", value: "*/*"),
    ]

    private var data: JSONValue { EventSamples.alert()["data"] ?? .null }

    @Test func isTheSameEventAsInStructuredForm() throws {
        let event = try BinaryCloudEvent.structured(headers, data: data)
        let structured = EventSamples.alert(
            changes: ["datacontenttype": .string("application/json; charset=utf-8")]
        )
        #expect(event == structured)
        #expect(
            try EventSamples.candidate(event).contentHash
                == EventSamples.candidate(structured).contentHash
        )
        #expect(BinaryCloudEvent.isOne(headers))
        #expect(!BinaryCloudEvent.isOne(Array(headers.dropFirst())))
    }

    @Test func decodesPercentSigns() throws {
        let event = try BinaryCloudEvent.structured(
            headers + [(name: "ce-subject", value: "Euro%20%e2%82%AC%25")],
            data: data
        )
        #expect(event["subject"] == .string("Euro €%"))
    }

    @Test(arguments: ["%", "%2", "%zz", "%ff", "a%e2%82"])
    func refusesWhatIsNoUTF8(_ value: String) {
        let violation = #expect(throws: ContractViolation.self) {
            try BinaryCloudEvent.structured(
                headers + [(name: "ce-subject", value: value)],
                data: data
            )
        }
        #expect(violation?.pointer == "/subject")
    }

    @Test func refusesDoubledAttributesAndDataInHeaders() {
        for (name, pointer) in [("Ce-Id", "/id"), ("ce-data", "/data")] {
            let violation = #expect(throws: ContractViolation.self) {
                try BinaryCloudEvent.structured(headers + [(name: name, value: "2")], data: data)
            }
            #expect(violation?.pointer == pointer)
        }
        #expect(throws: ContractViolation.self) {
            try BinaryCloudEvent.structured(headers, data: nil)
        }
    }
}
