import Contracts

/// The body of `POST /v1/send`, checked member by member.
package enum SendRequest {
    /// Reads strict JSON with exactly the known keys; the violation never repeats a value.
    /// `expires_at` may lie `horizon` seconds after `now`.
    package static func parse(
        _ bytes: [UInt8],
        now: UnixSeconds,
        horizon: Int64
    ) throws(ContractViolation) -> RelaySend.Message {
        let json: StrictJSON
        do throws(StrictJSON.Failure) {
            json = try StrictJSON(parsing: bytes, depth: 3)
        } catch {
            throw ContractViolation("", error.description)
        }
        try checkKeys(
            json,
            ["device_token", "environment", "event_id", "expires_at", "envelope"],
            at: ""
        )
        let envelope = json["envelope"] ?? .null
        try checkKeys(
            envelope,
            ["version", "key_id", "identity", "nonce", "ciphertext"],
            at: "/envelope"
        )
        guard let token = json["device_token"]?.text.flatMap(DeviceToken.init) else {
            throw ContractViolation("/device_token", "must be 2 to 1024 lowercase hex characters")
        }
        guard let environment = json["environment"]?.text.flatMap(APNsEnvironment.init) else {
            throw ContractViolation("/environment", "must be sandbox or production")
        }
        guard let eventID = json["event_id"]?.text.flatMap({ EventID($0) }) else {
            throw ContractViolation("/event_id", "must be a lowercase UUID")
        }
        guard let expiresAt = json["expires_at"]?.safeInteger else {
            throw ContractViolation("/expires_at", "must be an integer")
        }
        let message = RelaySend.Message(
            deviceToken: token,
            environment: environment,
            eventID: eventID,
            expiresAt: UnixSeconds(expiresAt),
            envelope: try self.envelope(envelope),
            isYoung: false
        )
        try check(message, now: now, horizon: horizon)
        return message
    }

    /// Checks what both interfaces demand of a message beyond the types of its fields.
    package static func check(
        _ message: RelaySend.Message,
        now: UnixSeconds,
        horizon: Int64
    ) throws(ContractViolation) {
        try ContractViolation.check(
            message.expiresAt.seconds > 0
                && message.expiresAt <= now.adding(seconds: horizon),
            "/expires_at",
            "must be positive and at most \(horizon) s ahead"
        )
        try message.envelope.checkBounds(at: "/envelope")
    }

    private static func envelope(_ json: StrictJSON) throws(ContractViolation) -> Envelope {
        guard json["version"]?.safeInteger == 1 else {
            throw ContractViolation("/envelope/version", "must be 1")
        }
        guard let keyID = json["key_id"]?.text.flatMap({ KeyID($0) }) else {
            throw ContractViolation("/envelope/key_id", "must be a lowercase UUID")
        }
        guard let identity = json["identity"]?.text else {
            throw ContractViolation("/envelope/identity", "must be 64 lowercase hex characters")
        }
        guard let nonce = json["nonce"]?.text.flatMap(Base64.decode) else {
            throw ContractViolation("/envelope/nonce", "must be canonical base64 of 12 bytes")
        }
        guard let ciphertext = json["ciphertext"]?.text.flatMap(Base64.decode) else {
            throw ContractViolation("/envelope/ciphertext", "must be canonical base64")
        }
        return Envelope(
            keyID: keyID,
            identity: identity,
            nonce: Blob(nonce),
            ciphertext: Blob(ciphertext)
        )
    }

    private static func checkKeys(
        _ json: StrictJSON,
        _ keys: Set<String>,
        at pointer: String
    ) throws(ContractViolation) {
        guard let members = json.members else {
            throw ContractViolation(pointer, "must be an object")
        }
        guard Set(members.keys) == keys else {
            throw ContractViolation(
                pointer,
                "must have exactly the keys \(keys.sorted().joined(separator: ", "))"
            )
        }
    }
}
