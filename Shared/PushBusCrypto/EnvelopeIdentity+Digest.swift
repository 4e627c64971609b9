import Contracts

extension EnvelopeIdentity {
    /// The envelope's `identity`: lowercase hex SHA-256 of ``hashedText``.
    package var digest: String { SHA256.hex(hashedText) }
}
