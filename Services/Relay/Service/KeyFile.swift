import Glibc
import PushBusCrypto

/// Reads the signing key's file; a missing or odd one is a reason, not the end of the process.
enum KeyFile {
    /// Bytes that a key file may have.
    static let maximumBytes = 4096

    /// The contents; the error says what to do and never holds any of them.
    static func read(_ path: String) throws(CryptoError) -> SecretBytes {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let reason = String(cString: strerror(errno))
            throw CryptoError(.invalidInput, "the key file cannot be opened: \(reason)")
        }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: maximumBytes + 1)
        defer {
            buffer.withUnsafeMutableBytes { bytes in
                if let start = bytes.baseAddress { explicit_bzero(start, bytes.count) }
            }
        }
        var filled = 0
        while filled < buffer.count {
            let count = buffer.withUnsafeMutableBytes { bytes in
                let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[filled...])
                return Glibc.read(descriptor, rest.baseAddress, rest.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                let reason = String(cString: strerror(errno))
                throw CryptoError(.invalidInput, "the key file cannot be read: \(reason)")
            }
            if count == 0 { break }
            filled += count
        }
        guard (1...maximumBytes).contains(filled) else {
            throw CryptoError(.invalidInput, "the key file needs 1 to \(maximumBytes) bytes")
        }
        return SecretBytes(buffer[..<filled])
    }
}
