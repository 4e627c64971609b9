import Contracts

/// Why an envelope could not be sealed or opened; carries no content and no key.
package enum EnvelopeError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The envelope's version is not 1.
    case unsupportedVersion(Int)
    /// The envelope was sealed with another key than the one at hand.
    case otherKey
    /// The envelope, or what it holds, is for another deployment, user or installation.
    case identityMismatch
    /// A part of the envelope has the wrong size or form.
    case malformed(ContractViolation)
    /// Something was changed, or the key is wrong.
    case authenticationFailed
    /// What was opened is not a plaintext of envelope v1.
    case malformedPlaintext(ContractViolation)
    /// The plaintext would exceed 2048 bytes even with both title parts cut away.
    case plaintextTooLarge(bytes: Int)
    /// OpenSSL failed; see the error.
    case failed(CryptoError)

    package var description: String {
        switch self {
        case .unsupportedVersion(let version):
            "envelope version \(version) is not supported, only 1"
        case .otherKey: "the envelope was sealed with another content key"
        case .identityMismatch: "the envelope is for another deployment, user or installation"
        case .malformed(let violation): "malformed envelope: \(violation)"
        case .authenticationFailed: "the envelope was changed or the content key is wrong"
        case .malformedPlaintext(let violation): "malformed plaintext: \(violation)"
        case .plaintextTooLarge(let bytes): "the plaintext has \(bytes) bytes, 2048 are allowed"
        case .failed(let error): error.description
        }
    }

    /// A stable name for counters.
    package var name: String {
        switch self {
        case .unsupportedVersion: "unsupported_version"
        case .otherKey: "other_key"
        case .identityMismatch: "identity_mismatch"
        case .malformed: "malformed"
        case .authenticationFailed: "authentication_failed"
        case .malformedPlaintext: "malformed_plaintext"
        case .plaintextTooLarge: "plaintext_too_large"
        case .failed: "failed"
        }
    }
}
