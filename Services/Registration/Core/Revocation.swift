import Contracts

/// The capability to end one session and nothing else.
package enum Revocation {
    /// What it has to name to be given.
    package struct ProofRequest: Hashable, Sendable {
        package let expectedSessionID: SessionID

        package init(parsing body: [UInt8]) throws(RequestProblem) {
            let fields = try RequestFields(parsing: body, exactly: ["expected_session_id"])
            expectedSessionID = SessionID(
                try fields.text("expected_session_id", characters: 1...128)
            )
        }

        /// Refuses when another login has taken the caller's place.
        package func check(_ caller: Caller) throws(RequestProblem) {
            guard expectedSessionID == caller.session.id else { throw .otherSession }
        }
    }

    /// What is shown to end a session.
    package enum Evidence: Sendable {
        /// The proof in clear text.
        case proof(Password)
        /// SHA-256 of a refresh token of the session, used or not.
        case refreshTokenHash(Blob)
    }

    /// `POST /api/mobile/auth/revoke`
    package struct Request: Sendable {
        package let sessionID: SessionID
        package let evidence: Evidence

        package init(parsing body: [UInt8]) throws(RequestProblem) {
            let (fields, form) = try RequestFields.parse(
                body,
                asOneOf: [["session_id", "proof"], ["session_id", "refresh_token_hash"]]
            )
            sessionID = SessionID(try fields.text("session_id", characters: 1...128))
            if form == 0 {
                evidence = .proof(try fields.password("proof", characters: 1...256))
                return
            }
            let text = try fields.text("refresh_token_hash", characters: 64...64)
            guard let hash = Hex.decode(text) else {
                throw fields.problem("refresh_token_hash", "must be lowercase hex of 32 bytes")
            }
            evidence = .refreshTokenHash(Blob(hash))
        }
    }

    /// What came of it.
    package enum Outcome: Hashable, Sendable {
        case ended
        /// There is no such session any more, whatever was shown.
        case absent
        /// The evidence is not of that session.
        case refused
    }

    /// Proofs that are kept of a session; the newest count.
    package static let mostProofs: Int64 = 16
    /// Used refresh tokens that are remembered of a session: more than a month of refreshing.
    package static let mostUsedTokens: Int64 = 4096
}
