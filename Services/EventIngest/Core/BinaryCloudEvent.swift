import Contracts

/// The binary content mode of CloudEvents over HTTP (HTTP binding 1.0.2 §3.1): attributes in
/// `ce-` headers, the data as the body.
package enum BinaryCloudEvent {
    /// Whether the headers are those of an event in binary mode.
    package static func isOne(_ headers: [(name: String, value: String)]) -> Bool {
        headers.contains { $0.name.lowercased() == "ce-specversion" }
    }

    /// The same event in structured form; `data` is nil when the body is not JSON.
    package static func structured(
        _ headers: [(name: String, value: String)],
        data: JSONValue?
    ) throws(ContractViolation) -> JSONValue {
        var members: [String: JSONValue] = [:]
        for (name, value) in headers {
            let name = name.lowercased()
            let isContentType = name == "content-type"
            guard isContentType || name.hasPrefix("ce-") else { continue }
            let attribute = isContentType ? "datacontenttype" : String(name.dropFirst(3))
            let pointer = "/" + CloudEventAttributes.escaped(attribute)
            try ContractViolation.check(
                members[attribute] == nil,
                pointer,
                "is there twice; send each attribute once"
            )
            try ContractViolation.check(
                !["data", "data_base64"].contains(attribute),
                pointer,
                "must be the body, not a header"
            )
            guard let text = decoded(value) else {
                throw ContractViolation(
                    pointer,
                    "must be percent-encoded UTF-8 (CloudEvents HTTP binding §3.1.3.2)"
                )
            }
            members[attribute] = .string(text)
        }
        guard let data else {
            throw ContractViolation("/data", "must be JSON in the body of the request")
        }
        members["data"] = data
        return .object(members)
    }

    private static func decoded(_ value: String) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(value.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard
                let high = rest.popFirst().flatMap(digit),
                let low = rest.popFirst().flatMap(digit)
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x37
        case 0x61...0x66: byte - 0x57
        default: nil
        }
    }
}
