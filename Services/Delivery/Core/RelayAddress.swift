/// Where a relay elsewhere is: an https URL, or http for 127.0.0.1 with a port.
package struct RelayAddress: Hashable, Sendable {
    /// The URL of `POST /v1/send`.
    package let sendURL: String

    private static let path = "/v1/send"

    /// Takes the URL of the relay, with or without `/v1/send`; nil for any other URL, and for one
    /// with user, query or fragment.
    package init?(_ text: String) {
        var base = Substring(text)
        while base.hasSuffix("/") { base.removeLast() }
        if base.hasSuffix(Self.path) { base.removeLast(Self.path.utf8.count) }
        let forbidden = Set("?#@\\\"<>".utf8)
        guard base.utf8.count <= 512,
            base.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !forbidden.contains($0) }),
            Self.isAcceptable(base)
        else { return nil }
        sendURL = base + Self.path
    }

    private static func isAcceptable(_ base: Substring) -> Bool {
        let isPlain = base.hasPrefix("http://")
        guard isPlain || base.hasPrefix("https://") else { return false }
        let authority = base.dropFirst(isPlain ? 7 : 8).prefix { $0 != "/" }
        let host: Substring
        if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
            host = authority[...end]
        } else {
            host = authority.prefix { $0 != ":" }
        }
        let rest = authority.dropFirst(host.count)
        let isPort = rest.hasPrefix(":") && UInt16(rest.dropFirst()).map { $0 > 0 } == true
        if isPlain { return host == "127.0.0.1" && isPort }
        return !host.isEmpty && (rest.isEmpty || isPort)
    }
}
