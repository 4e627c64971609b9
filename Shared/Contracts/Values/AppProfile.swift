/// What the publisher of an app decides about the visible side of a push: one file shared by the
/// Relay and the app (`PUSHBUS_APP_PROFILE`).
///
/// JSON: `label`, `payload_key` and `fallback` with `title` and `body`; nothing else.
package struct AppProfile: Hashable, Sendable {
    /// Name of the product as people see it.
    package let label: String
    /// Top-level key of the APNs payload that carries the envelope.
    package let payloadKey: String
    /// Shown when the extension cannot decrypt; both parts are present so that it always runs.
    package let fallbackTitle: String
    package let fallbackBody: String

    /// The profile of the reference system.
    package static let reference = AppProfile(
        uncheckedLabel: "ServerBee",
        payloadKey: "serverbee_envelope",
        fallbackTitle: "ServerBee",
        fallbackBody: "Open ServerBee to view this notification."
    )

    /// Bytes that label, title and body may each have; keeps the payload far below 4096 bytes.
    package static let textLimit = 200

    private init(
        uncheckedLabel label: String,
        payloadKey: String,
        fallbackTitle: String,
        fallbackBody: String
    ) {
        self.label = label
        self.payloadKey = payloadKey
        self.fallbackTitle = fallbackTitle
        self.fallbackBody = fallbackBody
    }

    /// Checks the parts; the violation names the member as the file spells it.
    package init(
        label: String,
        payloadKey: String,
        fallbackTitle: String,
        fallbackBody: String
    ) throws(ContractViolation) {
        for (pointer, text) in [
            ("/label", label), ("/fallback/title", fallbackTitle), ("/fallback/body", fallbackBody),
        ] {
            try ContractViolation.check(
                (1...Self.textLimit).contains(text.utf8.count)
                    && text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f },
                pointer,
                "must be 1 to \(Self.textLimit) bytes without control characters"
            )
        }
        try ContractViolation.check(
            (1...64).contains(payloadKey.utf8.count) && payloadKey != "aps"
                && payloadKey.utf8.allSatisfy {
                    (0x30...0x39).contains($0) || (0x41...0x5a).contains($0)
                        || (0x61...0x7a).contains($0) || $0 == 0x5f || $0 == 0x2d
                },
            "/payload_key",
            "must be 1 to 64 letters, digits, _ or - and not aps"
        )
        self.init(
            uncheckedLabel: label,
            payloadKey: payloadKey,
            fallbackTitle: fallbackTitle,
            fallbackBody: fallbackBody
        )
    }

    /// Reads the JSON of a profile file; a missing or an extra member is a violation.
    package init(parsing bytes: [UInt8]) throws(ContractViolation) {
        let json: StrictJSON
        do throws(StrictJSON.Failure) {
            json = try StrictJSON(parsing: bytes)
        } catch {
            throw ContractViolation("", error.description)
        }
        try Self.check(json, has: ["label", "payload_key", "fallback"], at: "")
        let fallback = json["fallback"] ?? .null
        try Self.check(fallback, has: ["title", "body"], at: "/fallback")
        func text(_ value: StrictJSON?, _ pointer: String) throws(ContractViolation) -> String {
            guard let text = value?.text else {
                throw ContractViolation(pointer, "must be a string")
            }
            return text
        }
        try self.init(
            label: text(json["label"], "/label"),
            payloadKey: text(json["payload_key"], "/payload_key"),
            fallbackTitle: text(fallback["title"], "/fallback/title"),
            fallbackBody: text(fallback["body"], "/fallback/body")
        )
    }

    private static func check(
        _ json: StrictJSON,
        has keys: Set<String>,
        at pointer: String
    ) throws(ContractViolation) {
        guard let members = json.members, Set(members.keys) == keys else {
            throw ContractViolation(
                pointer,
                "must have exactly \(keys.sorted().joined(separator: ", "))"
            )
        }
    }
}
