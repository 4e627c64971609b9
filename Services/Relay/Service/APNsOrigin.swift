import Contracts

/// Where one environment of APNs is reached; fixed for the life of the process, so that no host
/// name is ever built from a request.
package struct APNsOrigin: Hashable, Sendable, CustomStringConvertible {
    package let host: String
    package let port: UInt16

    /// Apple's host of the environment (Apple's page "Sending notification requests to APNs").
    package static func apple(_ environment: APNsEnvironment) -> APNsOrigin {
        switch environment {
        case .production: APNsOrigin(host: "api.push.apple.com", port: 443)
        case .sandbox: APNsOrigin(host: "api.sandbox.push.apple.com", port: 443)
        }
    }

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Takes `host:port`.
    package init?(_ text: String) {
        guard
            let colon = text.lastIndex(of: ":"),
            let port = UInt16(text[text.index(after: colon)...]), port > 0
        else { return nil }
        let host = text[..<colon]
        guard
            (1...253).contains(host.utf8.count),
            host.utf8.allSatisfy({
                (0x30...0x39).contains($0) || (0x41...0x5a).contains($0)
                    || (0x61...0x7a).contains($0) || $0 == 0x2d || $0 == 0x2e
            })
        else { return nil }
        self.init(host: String(host), port: port)
    }

    package var description: String { "\(host):\(port)" }
}
