import Bus
import Contracts
import HTTPServer
import RegistrationCore
import ServiceKit
import Storage

/// The settings of a Registration process, `PUSHBUS_REGISTRATION_…`.
package struct RegistrationSettings: Sendable {
    package let bus: BusSettings
    package let bind: BusEndpoint
    package let eventIngest: BusEndpointSource
    package let delivery: BusEndpointSource
    package var http: HTTPServerConfiguration
    package let store: StoreLocation
    package let masterKeyPath: String
    /// The file that remembers the generation of the store, on the disk of this process.
    package let generationPath: String
    package let deployment: DeploymentID
    /// Nil: the bound address.
    package let publicURL: String?
    package let lifetimes: SessionLifetimes

    /// Reads everything and finishes the reader.
    package init(_ reader: inout EnvironmentReader) throws {
        bus = BusSettings(&reader)
        bind = bus.bind(&reader)
        eventIngest = bus.peers("EVENTINGEST", &reader, help: "EventIngest, for test notifications")
        delivery = bus.peers("DELIVERY", &reader, help: "Delivery, for receipts of tests")
        let endpoint = reader.value(
            "HTTP",
            default: "127.0.0.1:8080",
            help: "address and port for the app; not loopback needs TLS or a trusted proxy"
        ) { try HostAndPort(parsing: $0) }
        http = Self.http(endpoint, &reader)
        let address = reader.storeLocation(help: "where accounts and phones are kept")
        let keyPath = reader.optionalPath(
            "MASTER_KEY_FILE",
            help: "file of the key that seals content keys, made at first start; by default "
                + "beside the store, required with postgresql:"
        )
        // `finish()` has thrown when there is no store.
        store = address ?? .sqlite(path: "/")
        switch store {
        case .sqlite(let path):
            masterKeyPath = keyPath ?? path + ".key"
            generationPath = path + "-generation"
        case .postgresql:
            if keyPath == nil {
                reader.reject("MASTER_KEY_FILE", "is required: it must not be where the store is")
            }
            masterKeyPath = keyPath ?? "/"
            generationPath = masterKeyPath + "-generation"
        }
        publicURL = reader.optionalValue(
            "PUBLIC_URL",
            help: "where phones reach this server; by default the bound address"
        ) { try Self.url($0) }
        let deployment = reader.optionalValue(
            "DEPLOYMENT_ID",
            help: "URL that names this deployment for good; by default PUBLIC_URL"
        ) { try Self.url($0) }
        if deployment == nil, publicURL == nil, endpoint.port == 0 {
            reader.reject(
                "DEPLOYMENT_ID",
                "is required when the port is picked at start and PUBLIC_URL is not set"
            )
        }
        self.deployment = DeploymentID(
            deployment ?? publicURL ?? "http://127.0.0.1:\(endpoint.port)"
        )
        lifetimes = Self.lifetimes(&reader)
        try reader.finish()
    }

    private static func http(
        _ address: HostAndPort,
        _ reader: inout EnvironmentReader
    ) -> HTTPServerConfiguration {
        let certificate = reader.optionalPath("TLS_CERTIFICATE", help: "certificate chain, PEM")
        let key = reader.optionalPath("TLS_KEY", help: "private key of the certificate, PEM")
        if (certificate == nil) != (key == nil) {
            reader.reject("TLS_KEY", "and TLS_CERTIFICATE have to be set together")
        }
        let trusted = reader.bool(
            "TRUSTED_PROXY",
            default: false,
            help: "a proxy that ends TLS is the only one that can reach this port"
        )
        let header = reader.optionalString(
            "SOURCE_HEADER",
            help: "header in which the trusted proxy names the client"
        )
        var limits = HTTPServerLimits()
        limits.uploadTimeout = .seconds(5)
        var tls: TLSFiles?
        if let certificate, let key {
            tls = TLSFiles(certificatePath: certificate, keyPath: key)
        }
        if !address.isLoopback, tls == nil, !trusted {
            reader.reject(
                "HTTP",
                "is reachable from outside: needs TLS_CERTIFICATE and TLS_KEY, "
                    + "or a TRUSTED_PROXY in front"
            )
        }
        return HTTPServerConfiguration(
            host: address.host,
            port: address.port,
            tls: tls,
            trustedProxy: trusted,
            sourceHeader: header,
            limits: limits
        )
    }

    private static func lifetimes(_ reader: inout EnvironmentReader) -> SessionLifetimes {
        func seconds(_ duration: Duration) -> Int64 { duration.components.seconds }
        return SessionLifetimes(
            accessSeconds: seconds(
                reader.duration(
                    "ACCESS_TOKEN_LIFETIME",
                    default: .seconds(900),
                    in: .seconds(SessionLifetimes.shortestAccessSeconds)...(.seconds(86_400)),
                    help: "how long an access token lasts"
                )
            ),
            sessionSeconds: seconds(
                reader.duration(
                    "SESSION_LIFETIME",
                    default: .seconds(2_592_000),
                    in: .seconds(60)...(.seconds(31_536_000)),
                    help: "how long a login lasts, refreshed or not"
                )
            )
        )
    }

    private static func url(_ text: String) throws -> String {
        guard DeploymentURL.isAcceptable(text) else {
            throw SettingError("has to be an https URL, or http for 127.0.0.1 with a port")
        }
        return text
    }
}
