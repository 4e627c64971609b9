import Contracts

/// What the QR code of `pushbus pair` carries: `pushbus://pair?server=URL&code=CODE`.
package struct PairingLink: Sendable {
    package let server: ServerAddress
    package let code: Password

    private static let prefix = "pushbus://pair?"

    /// Whether a text wants to be such a link.
    package static func isLink(_ text: String) -> Bool { text.hasPrefix("pushbus:") }

    /// Takes exactly the two parameters, once each and in any order.
    package init(_ text: String) throws(DeviceError) {
        guard text.utf8.count <= 2048, text.hasPrefix(Self.prefix) else {
            throw Self.malformed("it does not begin with \(Self.prefix)")
        }
        var values: [String: String] = [:]
        for part in text.dropFirst(Self.prefix.count).split(
            separator: "&",
            omittingEmptySubsequences: false
        ) {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2, let value = PercentEncoding.decode(pair[1]) else {
                throw Self.malformed("a parameter is not name=value")
            }
            guard values.updateValue(value, forKey: String(pair[0])) == nil else {
                throw Self.malformed("a parameter is there twice")
            }
        }
        guard
            Set(values.keys) == ["server", "code"],
            let server = values["server"], let code = values["code"],
            (1...128).contains(code.utf8.count)
        else { throw Self.malformed("it takes a server and a code") }
        self.server = try ServerAddress(server)
        self.code = Password(code)
    }

    private static func malformed(_ why: String) -> DeviceError {
        DeviceError(.address, "this is no pairing link: \(why)")
    }
}
