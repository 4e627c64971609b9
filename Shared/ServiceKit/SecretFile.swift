import Glibc

/// Reads a secret from a file.
enum SecretFile {
    /// The largest file taken for a secret.
    static let maximumBytes = 65_536

    /// The content without one newline at the end.
    static func read(_ path: String) throws(SettingError) -> Secret {
        guard path.hasPrefix("/") else {
            throw SettingError("has to be an absolute path, one that starts with /")
        }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw SettingError("cannot be opened: \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: maximumBytes + 1,
            alignment: 1
        )
        defer {
            if let start = buffer.baseAddress { explicit_bzero(start, buffer.count) }
            buffer.deallocate()
        }
        var filled = 0
        while filled < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let count = Glibc.read(descriptor, rest.baseAddress, rest.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else {
                throw SettingError("cannot be read: \(String(cString: strerror(errno)))")
            }
            if count == 0 { break }
            filled += count
        }
        guard filled <= maximumBytes else {
            throw SettingError("names a file of more than \(maximumBytes) bytes")
        }
        if filled > 0 && buffer[filled - 1] == UInt8(ascii: "\n") { filled -= 1 }
        guard filled > 0 else { throw SettingError("names an empty file") }
        return Secret(buffer[..<filled])
    }
}
