/// The address of a self-hosted server: https, or http for 127.0.0.1 with a port.
package struct ServerAddress: Hashable, Sendable, CustomStringConvertible {
    /// Without a slash at the end.
    package let text: String

    /// Takes an absolute URL without user, query and fragment, of at most 512 bytes.
    package init(_ text: String) throws(DeviceError) {
        var text = text
        while text.hasSuffix("/") { text.removeLast() }
        guard
            text.utf8.count <= 512,
            text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != 0x22 && $0 != 0x5c }),
            !text.contains(where: { $0 == "?" || $0 == "#" || $0 == "@" })
        else { throw .address("must be a plain URL without user, query and fragment") }
        let rest: Substring
        if text.hasPrefix("https://") {
            rest = text.dropFirst("https://".count)
        } else if text.hasPrefix("http://127.0.0.1:") {
            rest = text.dropFirst("http://".count)
        } else {
            throw .address("must begin with https:// (http:// only for 127.0.0.1 with a port)")
        }
        try Self.checkAuthority(rest.prefix { $0 != "/" })
        self.text = text
    }

    private static func checkAuthority(_ authority: Substring) throws(DeviceError) {
        let host: Substring
        var port: Substring?
        if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
            host = authority[...end]
            let tail = authority[authority.index(after: end)...]
            guard tail.isEmpty || tail.hasPrefix(":") else { throw .address("has a bad port") }
            port = tail.isEmpty ? nil : tail.dropFirst()
        } else if let colon = authority.firstIndex(of: ":") {
            host = authority[..<colon]
            port = authority[authority.index(after: colon)...]
        } else {
            host = authority
        }
        guard !host.isEmpty else { throw .address("has no host") }
        if let port {
            guard
                port.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let number = UInt16(port), number > 0
            else { throw .address("has a bad port") }
        }
    }

    package var description: String { text }

    /// The URL of a path that begins with a slash.
    package func url(_ path: String) -> String { text + path }
}
