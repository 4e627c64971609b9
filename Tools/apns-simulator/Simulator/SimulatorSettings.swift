import Contracts
import FoundationEssentials

/// How the simulator behaves; all of it can be changed while it runs.
struct SimulatorSettings: Sendable, Hashable, Codable {
    /// `SETTINGS_MAX_CONCURRENT_STREAMS` once a connection has shown a valid provider token.
    var maximumConcurrentStreams: UInt32 = 1_000
    /// The limit before that; 0 leaves the ramp out.
    var firstStreamLimit: UInt32 = 1
    /// Lowers the limit to 1 after a rejection (410 is none) until the next acceptance.
    var throttlesAfterRejection = false
    /// Windows of new connections, in bytes.
    var streamWindowBytes: UInt32 = 65_535
    var connectionWindowBytes: Int32 = 65_535
    /// Added to every answer; between the two at random if the second is larger.
    var delayMilliseconds = 0
    var maximumDelayMilliseconds = 0
    /// Seed of what is left to chance: delays and mixed scripts.
    var seed = 1
    /// Takes `iat` as a string too.
    var takesLenientTokens = false
    /// Parses the whole payload instead of looking at its ends.
    var parsesPayloads = true
    /// Answers BadDeviceToken for tokens that nobody registered.
    var rejectsUnknownTokens = false
    /// Requests to one token within the window, beyond which TooManyRequests; 0 is no limit.
    var requestsPerToken = 0
    var tokenWindowMilliseconds = 1_000
    /// A connection without a request for this long gets GOAWAY IdleTimeout; 0 never.
    var idleCloseMilliseconds = 0
    /// New connections within a minute, beyond which all are refused for a while; 0 is no limit.
    var connectionsPerMinute = 0
    var connectionBlockMilliseconds = 60_000
    /// PINGs of a connection, beyond which GOAWAY ENHANCE_YOUR_CALM; 0 is no limit.
    var maximumPings = 0
    /// What new connections are shown.
    var certificate = ServerCertificate.trusted
    var minimumTLS = TLSVersion.tls12
    var maximumTLS = TLSVersion.tls13
    /// Offers `h2` by ALPN.
    var offersHTTP2 = true

    enum CodingKeys: String, CodingKey, CaseIterable {
        case maximumConcurrentStreams = "maximum_concurrent_streams"
        case firstStreamLimit = "first_stream_limit"
        case throttlesAfterRejection = "throttle_after_rejection"
        case streamWindowBytes = "stream_window_bytes"
        case connectionWindowBytes = "connection_window_bytes"
        case delayMilliseconds = "delay_ms"
        case maximumDelayMilliseconds = "maximum_delay_ms"
        case seed
        case takesLenientTokens = "lenient_tokens"
        case parsesPayloads = "parse_payloads"
        case rejectsUnknownTokens = "reject_unknown_tokens"
        case requestsPerToken = "requests_per_token"
        case tokenWindowMilliseconds = "token_window_ms"
        case idleCloseMilliseconds = "idle_close_ms"
        case connectionsPerMinute = "connections_per_minute"
        case connectionBlockMilliseconds = "connection_block_ms"
        case maximumPings = "maximum_pings"
        case certificate
        case minimumTLS = "minimum_tls"
        case maximumTLS = "maximum_tls"
        case offersHTTP2 = "alpn"
    }
}

/// The certificate that the APNs ports show; all but the first must make a sender refuse.
enum ServerCertificate: String, Sendable, Codable, CaseIterable {
    case trusted
    case expired
    case notYetValid = "not_yet_valid"
    case wrongName = "wrong_name"
    case unknownAuthority = "unknown_authority"
    case selfSigned = "self_signed"
}

/// Versions of TLS by their names in settings.
enum TLSVersion: String, Sendable, Codable, Comparable {
    case tls11 = "1.1"
    case tls12 = "1.2"
    case tls13 = "1.3"

    static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

extension SimulatorSettings {
    /// These settings with some of them replaced, as the control API takes them.
    func changed(by json: [UInt8]) throws -> SimulatorSettings {
        let change = try JSONDecoder().decode([String: JSONValue].self, from: Data(json))
        for name in change.keys where CodingKeys(rawValue: name) == nil {
            let names = CodingKeys.allCases.map(\.rawValue).joined(separator: ", ")
            throw ControlError(400, "\(name) is no setting; there are \(names)")
        }
        let now = try JSONDecoder().decode(
            [String: JSONValue].self,
            from: try JSONEncoder().encode(self)
        )
        let merged = now.merging(change) { _, new in new }
        let settings = try JSONDecoder().decode(
            SimulatorSettings.self,
            from: try JSONEncoder().encode(merged)
        )
        try settings.check()
        return settings
    }

    private func check() throws {
        func hold(_ isHeld: Bool, _ text: String) throws {
            if !isHeld { throw ControlError(400, text) }
        }
        try hold(
            (1...2_147_483_647).contains(streamWindowBytes)
                && connectionWindowBytes >= 65_535,
            "windows are at most 2147483647 bytes, a stream's at least 1, a connection's at least 65535"
        )
        let times = [
            delayMilliseconds, maximumDelayMilliseconds, tokenWindowMilliseconds,
            idleCloseMilliseconds, connectionBlockMilliseconds,
        ]
        try hold(
            times.allSatisfy { (0...86_400_000).contains($0) },
            "times are 0 to 86400000 milliseconds"
        )
        try hold(
            [requestsPerToken, connectionsPerMinute, maximumPings].allSatisfy {
                (0...1_000_000_000).contains($0)
            },
            "limits are 0 (none) to 1000000000"
        )
        try hold(
            minimumTLS <= maximumTLS || maximumTLS == .tls11,
            "minimum_tls is above maximum_tls"
        )
    }
}
