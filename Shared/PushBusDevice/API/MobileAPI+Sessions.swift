import Contracts

extension MobileAPI {
    private struct ProofReply: Decodable {
        var sessionID: SessionID
        var proof: String

        enum CodingKeys: String, CodingKey {
            case sessionID = "session_id"
            case proof
        }
    }

    private struct DevicesReply: Decodable {
        var devices: [SignedInDevice]
    }

    /// A proof that can end exactly this session and do nothing else.
    package func proof(
        of session: SessionID,
        _ access: String
    ) async throws(DeviceError) -> DeletionProof {
        let reply: ProofReply = try await call(
            "POST",
            "/api/mobile/auth/proof",
            bearer: access,
            body: JSONValue.object(["expected_session_id": .string(session.text)])
        )
        guard reply.sessionID == session, !reply.proof.isEmpty else {
            throw DeviceError(.malformedReply, "the proof is for another session")
        }
        return DeletionProof(reply.proof)
    }

    /// Ends a session by what proves it; one that does not exist any more is a success. Carries no
    /// credentials of any login.
    package func revoke(_ end: SessionEnd, by evidence: SessionEnd.Evidence)
        async throws(DeviceError)
    {
        let (name, value) =
            switch evidence {
            case .proof(let proof): ("proof", proof.text)
            case .refreshTokenHash(let hash): ("refresh_token_hash", hash)
            }
        try await confirm(
            "POST",
            "/api/mobile/auth/revoke",
            body: JSONValue.object([
                "session_id": .string(end.sessionID.text), name: .string(value),
            ])
        )
    }

    /// The account's live sessions.
    package func devices(_ access: String) async throws(DeviceError) -> [SignedInDevice] {
        let reply: DevicesReply = try await call("GET", "/api/mobile/devices", bearer: access)
        return reply.devices
    }

    /// Ends a session of the account.
    package func endDevice(_ session: SessionID, _ access: String) async throws(DeviceError) {
        try await call("DELETE", "/api/mobile/devices/\(session.pathSegment)", bearer: access)
    }
}

extension SessionID {
    /// For a URL's path (RFC 3986 section 2.1).
    var pathSegment: String { PercentEncoding.encode(text) }
}
