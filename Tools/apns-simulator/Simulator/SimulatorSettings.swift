import Contracts

/// How the simulator behaves; all of it can be changed while it runs.
struct SimulatorSettings: Sendable, Hashable, Codable {
    /// `SETTINGS_MAX_CONCURRENT_STREAMS` after the first accepted request of a connection.
    var maximumConcurrentStreams: UInt32 = 1_000
    /// The limit before that; 0 leaves the ramp out.
    var firstStreamLimit: UInt32 = 1
    /// Lowers the limit to 1 after a rejection (410 is none) until the next acceptance.
    var throttlesAfterRejection = false
    /// Windows of new connections, in bytes.
    var streamWindowBytes: UInt32 = 65_535
    var connectionWindowBytes: Int32 = 65_535
    /// Added to every answer.
    var delayMilliseconds = 0
    /// Takes `iat` as a string too.
    var takesLenientTokens = false
    /// Parses the whole payload instead of looking at its ends.
    var parsesPayloads = true
    /// Answers BadDeviceToken for tokens that nobody registered.
    var rejectsUnknownTokens = false

    enum CodingKeys: String, CodingKey, CaseIterable {
        case maximumConcurrentStreams = "maximum_concurrent_streams"
        case firstStreamLimit = "first_stream_limit"
        case throttlesAfterRejection = "throttle_after_rejection"
        case streamWindowBytes = "stream_window_bytes"
        case connectionWindowBytes = "connection_window_bytes"
        case delayMilliseconds = "delay_ms"
        case takesLenientTokens = "lenient_tokens"
        case parsesPayloads = "parse_payloads"
        case rejectsUnknownTokens = "reject_unknown_tokens"
    }
}

extension SimulatorSettings {
    /// Some of the settings, as the control API takes them.
    struct Change: Decodable {
        private let values: KeyedDecodingContainer<CodingKeys>

        init(from decoder: any Decoder) throws {
            let names = try decoder.singleValueContainer().decode([String: JSONValue].self)
            for name in names.keys where CodingKeys(rawValue: name) == nil {
                throw ControlError(
                    400,
                    "\(name) is no setting; there are "
                        + CodingKeys.allCases.map(\.rawValue).joined(separator: ", ")
                )
            }
            values = try decoder.container(keyedBy: CodingKeys.self)
        }

        func apply(to settings: inout SimulatorSettings) throws {
            func change<Value: Decodable>(_ key: CodingKeys, _ value: inout Value) throws {
                if let new = try values.decodeIfPresent(Value.self, forKey: key) { value = new }
            }
            try change(.maximumConcurrentStreams, &settings.maximumConcurrentStreams)
            try change(.firstStreamLimit, &settings.firstStreamLimit)
            try change(.throttlesAfterRejection, &settings.throttlesAfterRejection)
            try change(.streamWindowBytes, &settings.streamWindowBytes)
            try change(.connectionWindowBytes, &settings.connectionWindowBytes)
            try change(.delayMilliseconds, &settings.delayMilliseconds)
            try change(.takesLenientTokens, &settings.takesLenientTokens)
            try change(.parsesPayloads, &settings.parsesPayloads)
            try change(.rejectsUnknownTokens, &settings.rejectsUnknownTokens)
            guard
                settings.streamWindowBytes <= 2_147_483_647, settings.connectionWindowBytes > 0,
                (0...3_600_000).contains(settings.delayMilliseconds)
            else {
                throw ControlError(
                    400,
                    "windows are 1 to 2147483647 bytes, delay_ms is 0 to 3600000"
                )
            }
        }
    }
}
