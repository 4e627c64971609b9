/// An address to listen at as operators write it: `127.0.0.1:8080`, `[::1]:8080`, `localhost:0`.
package struct HostAndPort: Hashable, Sendable, CustomStringConvertible {
    package let host: String
    /// 0 lets the system pick a free port.
    package let port: UInt16

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Reads `host:port`, an IPv6 address in brackets.
    package init(parsing text: String) throws(HTTPServerError) {
        let bad = HTTPServerError(
            .invalidAddress,
            "has to be an address and a port, such as 127.0.0.1:8080 or [::1]:8080"
        )
        guard let colon = text.lastIndex(of: ":"),
            let port = UInt16(text[text.index(after: colon)...])
        else { throw bad }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else { throw bad }
        self.init(host: String(host), port: port)
        _ = try ListenAddress(host: self.host, port: port)
    }

    /// Whether nobody but this host can reach it.
    package var isLoopback: Bool {
        (try? ListenAddress(host: host, port: port))?.isLoopback ?? false
    }

    package var description: String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}
