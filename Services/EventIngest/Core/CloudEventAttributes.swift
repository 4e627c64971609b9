import Contracts

/// The context attributes of a CloudEvent (CloudEvents 1.0.2 §3), nulls already left out.
struct CloudEventAttributes {
    private let members: [String: JSONValue]

    init(_ members: [String: JSONValue]) { self.members = members }

    static func canonicalBytes(of value: JSONValue) throws(ContractViolation) -> [UInt8] {
        do {
            return try value.canonicalBytes()
        } catch {
            throw ContractViolation("", "cannot be written as JSON; send numbers that are finite")
        }
    }

    static func checkSize(of value: JSONValue) throws(ContractViolation) {
        let bytes = try canonicalBytes(of: value).count
        try ContractViolation.check(
            bytes <= BusLimits.eventBytes,
            "",
            "takes \(bytes) bytes, at most \(BusLimits.eventBytes) are taken; send less data"
        )
    }

    /// Names are lowercase letters and digits; values are strings, 32-bit integers and booleans.
    func checkNamesAndValues() throws(ContractViolation) {
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            let pointer = "/" + Self.escaped(name)
            try ContractViolation.check(
                !name.isEmpty && name.utf8.allSatisfy(Self.isNameByte),
                pointer,
                "is no attribute name: use lowercase letters and digits only"
            )
            switch value {
            case .string(let text):
                try ContractViolation.check(
                    text.unicodeScalars.allSatisfy(Self.isAllowed),
                    pointer,
                    "must hold no control characters and no Unicode noncharacters"
                )
            case .bool: break
            case .integer(let number):
                try ContractViolation.check(
                    Int32(exactly: number) != nil,
                    pointer,
                    "must fit 32 bits; send a larger number as a string"
                )
            case .null, .number, .array, .object:
                throw ContractViolation(
                    pointer,
                    "must be a string, a 32-bit integer or a boolean; put structure into data"
                )
            }
        }
    }

    func checkVersion() throws(ContractViolation) {
        try ContractViolation.check(
            try required("specversion") == "1.0",
            "/specversion",
            "must be 1.0, the only CloudEvents version taken here"
        )
    }

    func required(_ name: String) throws(ContractViolation) -> String {
        guard let text = try optional(name) else {
            throw ContractViolation("/\(name)", "is missing; CloudEvents 1.0 requires it")
        }
        try ContractViolation.check(
            text.utf8.count <= ReceivedEvent.attributeBytes,
            "/\(name)",
            "is longer than \(ReceivedEvent.attributeBytes) bytes"
        )
        return text
    }

    func optional(_ name: String) throws(ContractViolation) -> String? {
        guard let value = members[name] else { return nil }
        guard case .string(let text) = value, !text.isEmpty else {
            throw ContractViolation("/\(name)", "must be a non-empty string")
        }
        return text
    }

    func timestamp(_ name: String) throws(ContractViolation) -> UnixMilliseconds? {
        guard let text = try optional(name) else { return nil }
        guard let instant = RFC3339.parse(text) else {
            throw ContractViolation(
                "/\(name)",
                "must be an RFC 3339 time with an offset, such as 2026-05-04T03:02:01Z"
            )
        }
        return instant
    }

    /// The trace context of the event, nil when it is not well-formed: that is never a reason to
    /// refuse an event.
    func traceparent() throws(ContractViolation) -> String? {
        guard let text = try optional("traceparent") else { return nil }
        return TraceParent.isWellFormed(text) ? text : nil
    }

    func checkOptionals() throws(ContractViolation) {
        _ = try optional("subject")
        if let schema = try optional("dataschema") {
            try Self.checkURIReference(schema, at: "/dataschema")
            try ContractViolation.check(
                schema.contains(":"),
                "/dataschema",
                "must be an absolute URI"
            )
        }
        if let mediaType = try optional("datacontenttype") {
            try ContractViolation.check(
                Self.isJSON(mediaType),
                "/datacontenttype",
                "must be JSON: leave it out or send application/json"
            )
        }
    }

    /// Characters of RFC 3986; the parts are not taken apart, a source is only ever compared.
    static func checkURIReference(
        _ text: String,
        at pointer: String
    ) throws(ContractViolation) {
        let bytes = Array(text.utf8)
        var index = 0
        while index < bytes.count {
            if bytes[index] == 0x25 {
                try ContractViolation.check(
                    index + 2 < bytes.count && isHex(bytes[index + 1]) && isHex(bytes[index + 2]),
                    pointer,
                    "must have two hexadecimal digits after each percent sign"
                )
                index += 3
            } else {
                try ContractViolation.check(
                    isURIByte(bytes[index]),
                    pointer,
                    "must be a URI reference (RFC 3986); percent-encode other characters"
                )
                index += 1
            }
        }
    }

    private static func isJSON(_ mediaType: String) -> Bool {
        let essence = mediaType.prefix { $0 != ";" }.lowercased().filter { $0 != " " }
        let parts = essence.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty else { return false }
        return parts[1] == "json" || (parts[1].hasSuffix("+json") && parts[1].count > 5)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x7a).contains(byte)
    }

    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x00...0x1f, 0x7f...0x9f, 0xfdd0...0xfdef: false
        default: scalar.value & 0xfffe != 0xfffe
        }
    }

    private static func isHex(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
        default: false
        }
    }

    private static func isURIByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
        default: "-._~:/?#[]@!$&'()*+,;=".utf8.contains(byte)
        }
    }

    /// A member name as a part of a JSON pointer (RFC 6901 §3).
    static func escaped(_ name: String) -> String {
        var result = ""
        for character in name.unicodeScalars {
            switch character {
            case "~": result += "~0"
            case "/": result += "~1"
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }
}
