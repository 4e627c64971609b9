/// Why a cryptographic operation failed; never carries key material or plaintext.
package struct CryptoError: Error, Hashable, CustomStringConvertible {
    /// What went wrong, open-ended so that a case can be added.
    package struct Code: Hashable, Sendable {
        /// Stable name, safe to log.
        package let name: String
        /// The key does not have the size or form the operation needs.
        package static let invalidKey = Self(name: "invalid_key")
        /// A nonce, tag or other input has the wrong size.
        package static let invalidInput = Self(name: "invalid_input")
        /// The authentication tag or signature does not match.
        package static let authenticationFailed = Self(name: "authentication_failed")
        /// The library or the operating system refused; see the message.
        package static let libraryFailure = Self(name: "library_failure")
    }

    package let code: Code
    /// Says what to do or to look at.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { "\(code.name): \(message)" }
}
