import Contracts
import EventIngestCore
import FoundationEssentials

/// Events as a producer would send them, and the pieces that read them.
enum EventSamples {
    static func decodeJSON(_ bytes: [UInt8]) -> JSONValue? {
        try? JSONDecoder().decode(JSONValue.self, from: Data(bytes))
    }

    /// 32 bytes that differ for different input; the real hash has its own tests.
    static let fakeHash: Hash = { bytes in
        var lanes: [UInt64] = [14_695_981_039_346_656_037, 1, 2, 3]
        for lane in lanes.indices {
            for byte in bytes { lanes[lane] = (lanes[lane] ^ UInt64(byte)) &* 1_099_511_628_211 }
        }
        return lanes.flatMap { lane in (0..<8).map { UInt8(truncatingIfNeeded: lane >> ($0 * 8)) } }
    }

    static let identity = EventIdentity(sha256: fakeHash)

    static func alert(
        _ type: EventType = .alertTriggered,
        id: String = "1",
        rule: String = "cpu",
        server: String = "s1",
        address: String? = nil,
        startedAt: String = "2026-05-04T03:02:01Z",
        changes: [String: JSONValue?] = [:],
        dataChanges: [String: JSONValue?] = [:]
    ) -> JSONValue {
        var data: [String: JSONValue] = [
            "rule_id": .string(rule), "rule_name": .string("Rule \(rule)"),
            "server_id": .string(server), "server_name": .string("Server \(server)"),
            "started_at": .string(startedAt),
        ]
        if let address { data["source_address"] = .string(address) }
        for (name, value) in dataChanges { data[name] = value }
        var event: [String: JSONValue] = [
            "specversion": .string("1.0"), "id": .string(id),
            "source": .string("/monitor/1"), "type": .string(type.rawValue),
            "data": .object(data),
        ]
        for (name, value) in changes { event[name] = value }
        return .object(event)
    }

    static func test(
        eventID: String = "11111111-1111-4111-8111-111111111111",
        installation: String = "phone-1",
        changes: [String: JSONValue?] = [:]
    ) -> JSONValue {
        var event: [String: JSONValue] = [
            "specversion": .string("1.0"), "id": .string(eventID),
            "source": .string("/registration"),
            "type": .string(EventType.testRequested.rawValue),
            "data": .object([
                "event_id": .string(eventID), "installation_id": .string(installation),
            ]),
        ]
        for (name, value) in changes { event[name] = value }
        return .object(event)
    }

    static func candidate(_ value: JSONValue) throws(ContractViolation) -> EventCandidate {
        try EventCandidate(value, identity: identity, decodeJSON: decodeJSON)
    }
}
