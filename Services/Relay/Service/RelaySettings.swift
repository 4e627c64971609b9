import Bus
import Contracts
import HTTPServer
import PushBusCrypto
import RelayCore
import ServiceKit
import TLS

/// Everything the Relay reads from its environment.
package struct RelaySettings: Sendable {
    package struct APNs: Sendable {
        package let environments: [APNsEnvironment]
        package let origins: [APNsEnvironment: APNsOrigin]
        package let caFile: String?
        package let connections: Int
        package let queueLimit: Int
        package let deadline: Duration
        let teamID: String
        let keyID: String
        let keyFile: String?
        let topic: String

        /// Reads the key file; the error says what is missing or wrong.
        package func credentials() throws(CryptoError) -> APNsCredentials {
            guard let keyFile else {
                throw CryptoError(.invalidInput, "PUSHBUS_RELAY_APNS_KEY_FILE is not set")
            }
            return try APNsCredentials(
                teamID: teamID,
                keyID: keyID,
                keyPEM: KeyFile.read(keyFile),
                topic: topic
            )
        }
    }

    package let bind: BusEndpoint?
    package let announcement: EndpointFile?
    package let security: BusSecurity
    package let http: HTTPServerConfiguration?
    package let limits: SendLimits.Settings
    package let busCredit: Int
    package let apns: APNs
    package let profile: AppProfile

    /// Reads all of it and calls `finish()`.
    package init(_ reader: inout EnvironmentReader) throws(ConfigurationErrors) {
        let bus = BusSettings(&reader)
        security = bus.security
        announcement = bus.announcement(&reader)
        bind = reader.optionalValue(
            "BIND",
            help: "our bus endpoint, ipc:///absolute/path or tcp://address:port"
        ) { try BusEndpoint(parsing: $0) }
        busCredit = reader.int(
            "BUS_CREDIT",
            default: 4_096,
            in: 1...65_536,
            help: "messages that one principal on the bus may have under way"
        )
        var http = Self.http(&reader)
        limits = Self.limits(&reader)
        apns = Self.apns(&reader)
        http?.limits.fit(limits, deadline: apns.deadline)
        self.http = http
        profile =
            reader.optionalValue(
                "PUSHBUS_APP_PROFILE",
                help: "JSON file with the publisher's label, payload key and fallback text"
            ) { path in
                let bytes = try KeyFile.read(path)
                return try AppProfile(parsing: bytes.withBytes { Array($0) })
            } ?? .reference
        if bind == nil, http == nil {
            reader.reject("BIND", "is required unless PUSHBUS_RELAY_HTTP is set")
        }
        try reader.finish()
    }

    private static func http(_ reader: inout EnvironmentReader) -> HTTPServerConfiguration? {
        let listener = HTTPServerConfiguration.read(
            &reader,
            help: "address and port of POST /v1/send, port 0 for any"
        )
        let sourceHeader = reader.optionalString(
            "HTTP_SOURCE_HEADER",
            help: "header in which the trusted proxy names the client, for the source limit"
        )
        let upload = reader.duration(
            "HTTP_UPLOAD_TIMEOUT",
            default: .seconds(5),
            in: .milliseconds(100)...(.seconds(30)),
            help: "time for the upload of one request"
        )
        guard var configuration = listener else { return nil }
        configuration.sourceHeader = sourceHeader
        configuration.limits.uploadTimeout = upload
        return configuration
    }

    private static func limits(_ reader: inout EnvironmentReader) -> SendLimits.Settings {
        var limits = SendLimits.Settings()
        limits.concurrent = reader.int(
            "LIMIT_CONCURRENT",
            default: limits.concurrent,
            in: 1...1_024,
            help: "requests of POST /v1/send that are worked on at once"
        )
        limits.perSource = reader.int(
            "LIMIT_SOURCE",
            default: limits.perSource,
            in: 1...1_000_000,
            help: "requests a minute from one source address (IPv6: one /64)"
        )
        limits.perTarget = reader.int(
            "LIMIT_TARGET",
            default: limits.perTarget,
            in: 1...1_000_000,
            help: "sends a minute to one device token"
        )
        limits.perInstance = reader.int(
            "LIMIT_INSTANCE",
            default: limits.perInstance,
            in: 1...10_000_000,
            help: "requests a minute of this process"
        )
        limits.entries = reader.int(
            "LIMIT_ENTRIES",
            default: limits.entries,
            in: 64...65_536,
            help: "sources, and targets, that are kept apart; beyond it new ones are refused"
        )
        limits.bodyBytes = reader.int(
            "LIMIT_BODY",
            default: limits.bodyBytes,
            in: 4_098...32_768,
            help: "bytes of a request body; the least is the largest message that is legal"
        )
        limits.horizon = Int64(
            reader.int(
                "LIMIT_HORIZON",
                default: Int(limits.horizon),
                in: 60...86_400,
                help: "seconds that expires_at of a message may lie ahead, on the bus as well"
            )
        )
        return limits
    }

    private static func apns(_ reader: inout EnvironmentReader) -> APNs {
        let environments = reader.value(
            "APNS_ENVIRONMENTS",
            default: "sandbox,production",
            help: "environments that are served",
            parse: environments
        )
        var origins: [APNsEnvironment: APNsOrigin] = [:]
        for environment in APNsEnvironment.allCases {
            origins[environment] = reader.value(
                "APNS_\(environment.rawValue.uppercased())_ORIGIN",
                default: APNsOrigin.apple(environment).description,
                help: "host:port of APNs (\(environment.rawValue))"
            ) { text in
                guard let origin = APNsOrigin(text) else {
                    throw SettingError("has to be host:port")
                }
                return origin
            }
        }
        return APNs(
            environments: environments,
            origins: origins,
            caFile: reader.optionalValue(
                "APNS_CA_FILE",
                help: "certificate authorities (PEM) that APNs is verified with, not the system's"
            ) { path in
                _ = try TLSContext.client(trust: .file(path))
                return path
            },
            connections: reader.int(
                "APNS_CONNECTIONS",
                default: 1,
                in: 1...16,
                help: "connections for each environment"
            ),
            queueLimit: reader.int(
                "APNS_QUEUE",
                default: 4_096,
                in: 16...65_536,
                help: "messages of an environment that may wait for a stream"
            ),
            deadline: reader.duration(
                "APNS_DEADLINE",
                default: .seconds(10),
                in: .milliseconds(500)...(.seconds(15)),
                help: "time from taking a message to its verdict"
            ),
            // Missing or wrong credentials do not stop the process, so nothing is
            // checked here.
            teamID: reader.string("APNS_TEAM_ID", default: "", help: "team id at Apple"),
            keyID: reader.string("APNS_KEY_ID", default: "", help: "id of the signing key"),
            keyFile: reader.optionalString(
                "APNS_KEY_FILE",
                help: "file of the signing key as Apple hands it out (PKCS#8 PEM)"
            ),
            topic: reader.string("APNS_TOPIC", default: "", help: "bundle id of the app")
        )
    }

    private static func environments(_ text: String) throws -> [APNsEnvironment] {
        let names = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        let environments = names.compactMap(APNsEnvironment.init)
        guard environments.count == names.count, Set(environments).count == names.count else {
            throw SettingError("has to be sandbox, production or both, separated by a comma")
        }
        return environments
    }
}

extension HTTPServerLimits {
    /// Room for as many sends as are allowed, for those that are turned away meanwhile, and for a
    /// stop that waits for every answer of APNs.
    fileprivate mutating func fit(_ limits: SendLimits.Settings, deadline: Duration) {
        concurrentRequests = limits.concurrent + 224
        connections = 2 * concurrentRequests
        stopGrace = deadline + .seconds(2)
    }
}
