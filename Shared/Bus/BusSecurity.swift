import ZeroMQ

/// How the two ends of a link know each other. The transport decides what of it is used: on ipc
/// every process of the same user is trusted, tcp is always CURVE.
package enum BusSecurity: Sendable {
    /// Only ipc endpoints, in 0700 directories.
    case trustedDirectory
    /// CURVE on tcp endpoints.
    case curve(BusCurve)

    /// The CURVE set-up of a server; throws when tcp would be open to anybody.
    func serverCurve(
        _ endpoint: BusEndpoint
    ) throws(BusConfigurationError) -> (keys: CurveKeyPair, authority: BusAuthority)? {
        if endpoint.isLocal { return nil }
        guard case .curve(let curve) = self, let authority = curve.authority else {
            throw BusConfigurationError(
                "\(endpoint.address): tcp needs a CURVE key and an allow-list; "
                    + "set both, or use an ipc:// endpoint"
            )
        }
        return (curve.keys, authority)
    }

    /// The CURVE set-up of a client; throws when a key is missing.
    func clientCurve(
        _ endpoint: BusEndpoint
    ) throws(BusConfigurationError) -> ZeroMQCurve? {
        if endpoint.isLocal { return nil }
        guard case .curve(let curve) = self, let server = endpoint.serverKey ?? curve.serverKey
        else {
            throw BusConfigurationError(
                "\(endpoint.address): tcp needs our CURVE key and the server's public key; "
                    + "set both, or use an ipc:// endpoint"
            )
        }
        return .client(curve.keys, server: server)
    }
}

/// Keys and allow-list of one process.
package struct BusCurve: Sendable {
    package var keys: CurveKeyPair
    /// The key of servers whose endpoint does not name one.
    package var serverKey: CurvePublicKey?
    /// Who may connect to our own endpoint; nil where we are only a client.
    package var authority: BusAuthority?

    package init(
        keys: CurveKeyPair,
        serverKey: CurvePublicKey? = nil,
        authority: BusAuthority? = nil
    ) {
        self.keys = keys
        self.serverKey = serverKey
        self.authority = authority
    }
}

/// Who sent a message.
package struct BusPeer: Sendable {
    /// The principal's name, `local` on ipc.
    package let principal: String
    private let entry: BusPrincipal?

    /// A process of the same user, which may do everything.
    package static let local = BusPeer(principal: "local", entry: nil)

    init(_ entry: BusPrincipal) {
        self.init(principal: entry.name, entry: entry)
    }

    private init(principal: String, entry: BusPrincipal?) {
        self.principal = principal
        self.entry = entry
    }

    /// Whether it may send messages of this type.
    package func may(send type: String) -> Bool { entry?.types.allows(type) ?? true }

    /// Whether it may publish events of this CloudEvents source.
    package func may(publish source: String) -> Bool { entry?.sources.allows(source) ?? true }
}
