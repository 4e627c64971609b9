import Contracts

/// The JSON Web Token by which a provider signs in to APNs (Apple's page "Establishing a
/// token-based connection to APNs").
package struct ProviderToken: Hashable, Sendable {
    /// The compact form `header.claims.signature`.
    package let compact: String
    /// The `iat` claim in Unix seconds.
    package let issuedAtSeconds: Int64

    /// Signs a token: header `alg` ES256 and `kid`, claims `iss` and `iat`.
    package static func sign(
        key: ES256PrivateKey,
        keyID: String,
        teamID: String,
        issuedAtSeconds: Int64
    ) throws(CryptoError) -> ProviderToken {
        var header = CompactJSON()
        header.object {
            $0.field("alg", "ES256")
            $0.field("kid", keyID)
        }
        var claims = CompactJSON()
        claims.object {
            $0.field("iss", teamID)
            $0.field("iat", issuedAtSeconds)
        }
        let signed = "\(Base64.encodeURL(header.bytes)).\(Base64.encodeURL(claims.bytes))"
        let signature = try key.sign(Array(signed.utf8))
        return ProviderToken(
            compact: "\(signed).\(Base64.encodeURL(signature))",
            issuedAtSeconds: issuedAtSeconds
        )
    }
}

/// A token as a server received it: the parts are decoded, the signature is not yet verified.
package struct ReceivedProviderToken: Sendable {
    /// The JSON text of the header.
    package let header: [UInt8]
    /// The JSON text of the claims.
    package let claims: [UInt8]
    private let signed: [UInt8]
    private let signature: [UInt8]

    /// Splits the compact form; nil when it is not three base64url parts.
    package init?(compact: String) {
        let parts = compact.split(separator: ".", omittingEmptySubsequences: false)
        guard
            compact.utf8.count <= 4096,
            parts.count == 3,
            let header = Base64.decodeURL(String(parts[0])),
            let claims = Base64.decodeURL(String(parts[1])),
            let signature = Base64.decodeURL(String(parts[2])),
            !header.isEmpty, !claims.isEmpty, !signature.isEmpty
        else { return nil }
        self.header = header
        self.claims = claims
        self.signature = signature
        signed = Array("\(parts[0]).\(parts[1])".utf8)
    }

    /// Whether the signature is R and S (64 bytes) rather than ASN.1 DER.
    package var hasRawSignature: Bool { signature.count == ECDSASignature.rawBytes }

    /// Whether the key signed this token; R and S and ASN.1 DER are both taken, as APNs does.
    package func isSigned(by key: ES256PublicKey) -> Bool {
        key.verify(signature, of: signed)
    }
}
