import Contracts
import EventIngestCore
import FoundationEssentials

/// Feeds bytes to the readers of published events; whatever comes, they answer with an event or with
/// what is wrong and where.
enum EventInputs {
    /// What an event may take, and a request with all its events.
    static let longest = BusLimits.messageBytes

    private static let identity = EventIdentity(sha256: { bytes in
        var sum: UInt8 = 0
        for byte in bytes { sum = sum &* 31 &+ byte }
        return Array(repeating: sum, count: 32)
    })

    /// The first byte chooses the reader, the rest is the body.
    static func tryInput(_ bytes: UnsafeRawBufferPointer) {
        guard let choice = bytes.first, bytes.count <= longest else { return }
        let body = Array(bytes.dropFirst())
        switch choice % 3 {
        case 0: tryStructured(body)
        case 1: tryAlertmanager(body)
        default: tryBinary(body)
        }
    }

    /// All readers, for files that do not name one.
    static func tryAll(_ body: [UInt8]) {
        tryStructured(body)
        tryAlertmanager(body)
        tryBinary(body)
    }

    private static func decode(_ bytes: [UInt8]) -> JSONValue? {
        try? JSONDecoder().decode(JSONValue.self, from: Data(bytes))
    }

    private static func tryStructured(_ body: [UInt8]) {
        guard let value = decode(body) else { return }
        if case .array(let events) = value {
            for event in events { tryEvent(event) }
        } else {
            tryEvent(value)
        }
    }

    private static func tryAlertmanager(_ body: [UInt8]) {
        guard let value = decode(body), let payload = try? AlertmanagerPayload(value) else {
            return
        }
        precondition(payload.entries.count <= AlertmanagerPayload.alertLimit)
        for entry in payload.entries {
            if case .success(let event) = entry.event { tryEvent(event) }
        }
    }

    /// Lines of `name: value` up to an empty one are headers, the rest is the data.
    private static func tryBinary(_ body: [UInt8]) {
        var headers: [(name: String, value: String)] = []
        var rest = body[...]
        while let end = rest.firstIndex(of: 10) {
            let line = rest[..<end]
            rest = rest[(end + 1)...]
            if line.isEmpty { break }
            guard let colon = line.firstIndex(of: 58) else { continue }
            headers.append(
                (
                    String(decoding: line[..<colon], as: UTF8.self),
                    String(decoding: line[(colon + 1)...], as: UTF8.self)
                )
            )
        }
        guard BinaryCloudEvent.isOne(headers) else { return }
        let event = try? BinaryCloudEvent.structured(headers, data: decode(Array(rest)))
        if let event { tryEvent(event) }
    }

    /// An event that is taken is taken again in its canonical form, as the same event.
    private static func tryEvent(_ value: JSONValue) {
        guard let event = try? ReceivedEvent(value, decodeJSON: decode) else { return }
        precondition(event.source.utf8.count <= ReceivedEvent.attributeBytes)
        guard let again = decode(event.canonical) else {
            preconditionFailure("what was made canonical cannot be read")
        }
        let second = try? ReceivedEvent(again, decodeJSON: decode)
        precondition(second?.canonical == event.canonical, "the canonical form is not stable")
        guard
            let candidate = try? EventCandidate(value, identity: identity, decodeJSON: decode)
        else { return }
        let same = try? EventCandidate(again, identity: identity, decodeJSON: decode)
        precondition(same?.notification == candidate.notification, "another notification")
        if case .alert(let content) = candidate.notification.content {
            precondition(content.alertKey.utf8.count <= AlertCycle.keyBytes)
        }
    }
}
