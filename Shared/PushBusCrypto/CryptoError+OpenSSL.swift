import COpenSSL

extension CryptoError {
    /// Takes the newest entry of this thread's OpenSSL error queue as text and empties the queue.
    init(openSSL operation: String) {
        let code = ERR_peek_last_error()
        ERR_clear_error()
        guard code != 0, let reason = ERR_reason_error_string(code) else {
            self.init(.libraryFailure, "\(operation) failed without a reason from OpenSSL")
            return
        }
        self.init(.libraryFailure, "\(operation) failed: \(String(cString: reason))")
    }
}

/// The failure of an OpenSSL call.
func libraryFailure(_ operation: String) -> CryptoError { CryptoError(openSSL: operation) }

/// Throws unless an OpenSSL call reported success (1).
func check(_ result: Int32, _ operation: @autoclosure () -> String) throws(CryptoError) {
    if result != 1 { throw libraryFailure(operation()) }
}

/// Unwraps a pointer that an OpenSSL call returned.
func check<T>(_ result: T?, _ operation: @autoclosure () -> String) throws(CryptoError) -> T {
    guard let result else { throw libraryFailure(operation()) }
    return result
}

/// Overwrites bytes in a way the compiler does not remove.
func wipe(_ bytes: inout [UInt8]) {
    bytes.withUnsafeMutableBytes { buffer in
        OPENSSL_cleanse(buffer.baseAddress, buffer.count)
    }
}
