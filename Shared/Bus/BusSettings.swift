import Contracts
import ServiceKit
import ZeroMQ

/// The settings every process on the bus has, read the same way everywhere.
///
/// `BIND` is its own endpoint, one setting for each peer names where that is. tcp endpoints need
/// `CURVE_KEY_FILE`, and `CURVE_ALLOW_LIST` (own endpoint) or `CURVE_SERVER_KEY` (peers). Bad
/// values, files included, are reported by the reader's `finish()`.
package struct BusSettings: Sendable {
    package let security: BusSecurity

    /// Reads the CURVE settings, all of which may be left out.
    package init(_ reader: inout EnvironmentReader) {
        let keys = reader.optionalValue(
            "CURVE_KEY_FILE",
            help: "secret key file for tcp endpoints, made with 'pushbus keys' (mode 0600)"
        ) { try CurveKeyFile.readSecret($0) }
        let serverKey = reader.optionalValue(
            "CURVE_SERVER_KEY",
            help: "public key (Z85) of peers on tcp whose endpoint does not name one"
        ) { text in
            guard let key = CurvePublicKey(z85: text) else {
                throw SettingError("has to be 40 characters of Z85")
            }
            return key
        }
        let authority = reader.optionalValue(
            "CURVE_ALLOW_LIST",
            help: "file of the principals that may connect to our tcp endpoint"
        ) { try BusAuthority(file: $0) }
        guard let keys else {
            security = .trustedDirectory
            return
        }
        security = .curve(BusCurve(keys: keys, serverKey: serverKey, authority: authority))
    }

    /// Reads `BIND`, the endpoint this process serves.
    package func bind(_ reader: inout EnvironmentReader) -> BusEndpoint {
        let endpoint = reader.requiredValue(
            "BIND",
            help: "our bus endpoint, ipc:///absolute/path or tcp://address:port"
        ) { text in
            let endpoint = try BusEndpoint(parsing: text)
            _ = try security.serverCurve(endpoint)
            return endpoint
        }
        // The stand-in is never used: `finish()` throws when there is no value.
        return endpoint ?? BusEndpoint(.ipc("/"))
    }

    /// Reads `ANNOUNCE`, a file in which our endpoint stands while we serve it.
    package func announcement(_ reader: inout EnvironmentReader) -> EndpointFile? {
        reader.optionalValue(
            "ANNOUNCE",
            help: "file of endpoints, @/path in peers' settings, that ours is added to while we run"
        ) { path in
            guard path.hasPrefix("/") else { throw SettingError("has to be an absolute path") }
            return EndpointFile(path: path)
        }
    }

    /// Reads the endpoints of a peer: a list separated by commas, or `@/path` of a file of them.
    package func peers(
        _ name: String,
        _ reader: inout EnvironmentReader,
        help: String
    ) -> BusEndpointSource {
        let source = reader.requiredValue(name, help: Self.peerHelp(help)) { try checked($0) }
        return source ?? .fixed([])
    }

    /// As ``peers(_:_:help:)`` for a peer that may be left out.
    package func optionalPeers(
        _ name: String,
        _ reader: inout EnvironmentReader,
        help: String
    ) -> BusEndpointSource? {
        reader.optionalValue(name, help: Self.peerHelp(help)) { try checked($0) }
    }

    private static func peerHelp(_ help: String) -> String {
        "\(help): endpoints separated by commas, or @/absolute/path of a file of them"
    }

    private func checked(_ text: String) throws -> BusEndpointSource {
        let source = try BusEndpointSource(parsing: text)
        if case .fixed(let endpoints) = source {
            for endpoint in endpoints { _ = try security.clientCurve(endpoint) }
        }
        return source
    }
}
