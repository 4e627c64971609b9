import COpenSSL
import Glibc

/// Why TLS could not do what was asked; the text never holds key or message bytes.
package struct TLSError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The area of the failure, for deciding; `description` is for people.
    package enum Code: String, Sendable, Hashable {
        /// A file or a setting is unusable; an operator must act.
        case configuration
        /// The peer's certificate is not trusted, not valid now, or for another name.
        case verification
        /// The peer does not speak the required application protocol (RFC 7301).
        case applicationProtocol
        /// The handshake failed for another reason.
        case handshake
        /// The connection broke.
        case connection
        /// The peer broke the TLS protocol after the handshake.
        case protocolViolation
    }

    package let code: Code
    package let message: String
    /// First entry of OpenSSL's error queue, 0 if it was empty.
    package let libraryCode: UInt
    /// `X509_V_ERR_*` of a verification failure, else 0.
    package let verifyCode: Int

    /// Waiting and trying again may help; a configuration or a verification failure stays.
    package var isRetriable: Bool { code == .handshake || code == .connection }

    package var description: String { "tls \(code.rawValue): \(message)" }

    static func configuration(_ message: String) -> TLSError {
        let queue = drainQueue()
        return TLSError(
            code: .configuration,
            message: join(message, queue.text),
            libraryCode: queue.first,
            verifyCode: 0
        )
    }

    static func library(_ code: Code, _ message: String) -> TLSError {
        let queue = drainQueue()
        return TLSError(
            code: code,
            message: join(message, queue.text),
            libraryCode: queue.first,
            verifyCode: 0
        )
    }

    static func verification(_ verifyCode: Int) -> TLSError {
        let queue = drainQueue()
        let reason =
            X509_verify_cert_error_string(verifyCode).map { String(cString: $0) } ?? "unknown"
        return TLSError(
            code: .verification,
            message: "the peer's certificate was refused: \(reason) (code \(verifyCode));"
                + " check the CA bundle, the host name and the clock",
            libraryCode: queue.first,
            verifyCode: verifyCode
        )
    }

    static func system(_ code: Code, errno number: Int32) -> TLSError {
        let queue = drainQueue()
        let text = number == 0 ? "closed without notice" : String(cString: strerror(number))
        return TLSError(
            code: code,
            message: join(text, queue.text),
            libraryCode: queue.first,
            verifyCode: 0
        )
    }

    private static func join(_ message: String, _ queue: String) -> String {
        queue.isEmpty ? message : "\(message) (\(queue))"
    }

    /// Empties the thread's OpenSSL error queue; at most four entries become text.
    private static func drainQueue() -> (first: UInt, text: String) {
        var first: UInt = 0
        var texts: [String] = []
        var buffer = [CChar](repeating: 0, count: 256)
        while true {
            let entry = ERR_get_error()
            if entry == 0 { break }
            if first == 0 { first = entry }
            if texts.count < 4 {
                ERR_error_string_n(entry, &buffer, buffer.count)
                texts.append(
                    String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)
                )
            }
        }
        return (first, texts.joined(separator: "; "))
    }
}
