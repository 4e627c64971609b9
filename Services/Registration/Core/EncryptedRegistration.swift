import Contracts

/// `POST /api/mobile/push/encrypted-register`
package struct EncryptedRegistration: Sendable {
    package let expectedRevision: Int64
    package let deviceToken: DeviceToken
    package let environment: APNsEnvironment
    package let keyID: KeyID
    package let contentKey: ContentKey
    package let deploymentID: DeploymentID

    package init(parsing body: [UInt8]) throws(RequestProblem) {
        let fields = try RequestFields(
            parsing: body,
            exactly: [
                "expected_revision", "device_token", "environment", "content_key_id",
                "content_key", "deployment_id",
            ]
        )
        expectedRevision = try fields.revision("expected_revision")
        guard let token = DeviceToken(try fields.text("device_token", characters: 2...1024)) else {
            throw fields.problem("device_token", "must be lowercase hex of even length")
        }
        deviceToken = token
        environment = try fields.choice("environment")
        keyID = try fields.uuid("content_key_id")
        guard let bytes = Base64.decode(try fields.text("content_key", characters: 44...44)),
            let key = ContentKey(bytes)
        else { throw fields.problem("content_key", "must be canonical base64 of 32 bytes") }
        contentKey = key
        let deployment = try fields.text("deployment_id", characters: 1...512)
        guard DeploymentURL.isAcceptable(deployment) else {
            throw fields.problem(
                "deployment_id",
                "must be an https URL, or http for 127.0.0.1 with a port"
            )
        }
        deploymentID = DeploymentID(deployment)
    }
}

/// The rule for the URL that names a deployment.
package enum DeploymentURL {
    /// Whether the text is an https URL of at most 512 characters, or an http URL of 127.0.0.1 with
    /// an explicit port; without user, query and fragment.
    package static func isAcceptable(_ text: String) -> Bool {
        guard text.utf8.count <= 512, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            return false
        }
        if let rest = after("https://", in: text) {
            let (host, port) = authority(of: rest)
            return isHost(host) && (port == nil || isPort(port ?? ""))
        }
        if let rest = after("http://", in: text) {
            let (host, port) = authority(of: rest)
            return host == "127.0.0.1" && isPort(port ?? "")
        }
        return false
    }

    private static func after(_ scheme: String, in text: String) -> Substring? {
        guard text.hasPrefix(scheme) else { return nil }
        let rest = text.dropFirst(scheme.count)
        let forbidden: Set<Character> = ["?", "#", "@", "\\", "\"", "<", ">"]
        return rest.contains { forbidden.contains($0) } ? nil : rest
    }

    private static func authority(of rest: Substring) -> (host: Substring, port: String?) {
        let authority = rest.prefix { $0 != "/" }
        if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
            let tail = authority[authority.index(after: end)...]
            let host = authority[...end]
            if tail.isEmpty { return (host, nil) }
            return tail.hasPrefix(":") ? (host, String(tail.dropFirst())) : ("", nil)
        }
        guard let colon = authority.firstIndex(of: ":") else { return (authority, nil) }
        return (authority[..<colon], String(authority[authority.index(after: colon)...]))
    }

    private static func isHost(_ host: Substring) -> Bool {
        if host.hasPrefix("[") {
            let inside = host.dropFirst().dropLast()
            return inside.contains(":")
                && inside.allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
        }
        return !host.isEmpty && host.utf8.count <= 253
            && host.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
                (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
                    && label.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
            }
    }

    private static func isPort(_ text: String) -> Bool {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) }
            && UInt16(text).map { $0 > 0 } ?? false
    }
}
