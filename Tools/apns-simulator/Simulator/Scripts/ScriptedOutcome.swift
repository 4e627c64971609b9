import HTTP2

/// What a test wants to happen to requests instead of the ordinary answer.
struct ScriptedOutcome: Sendable, Hashable {
    enum Action: String, Sendable, Hashable, Codable {
        /// The answer of `status` and `reason`.
        case answer
        /// RST_STREAM with `code`.
        case reset
        /// GOAWAY with `reason` as its JSON; see `processed` and `graceful`.
        case goaway
        /// No answer at all.
        case silence
        /// The connection ends without a word.
        case close
    }

    var action: Action
    var status: Int?
    var reason: String?
    /// Sent with 410; the current time unless given.
    var timestamp: Int64?
    /// How many requests it applies to; 0 is all from now on.
    var count: Int
    var delayMilliseconds: Int
    /// With more than the delay: the delay is between the two at random.
    var maximumDelayMilliseconds: Int
    /// In a mix: how many of a million requests it concerns.
    var perMillion: Int
    /// Name of an HTTP/2 error code, `REFUSED_STREAM`.
    var code: HTTP2ErrorCode
    /// GOAWAY in two steps, with an ordinary answer to this request.
    var isGraceful: Bool
    /// GOAWAY: whether the last stream includes this request, which is then answered 200.
    var isProcessed: Bool
    /// Replaces the JSON body.
    var body: String?
    /// Cuts the body into DATA frames of this many bytes.
    var frameBytes: Int?
    /// Sends the answer without the end of the stream.
    var leavesOpen: Bool
    /// Leaves `apns-id` out.
    var omitsID: Bool
    /// Value of `Retry-After`.
    var retryAfter: String?
    /// Answers when the header fields are there, without waiting for the body.
    var isEarly: Bool
}

extension ScriptedOutcome: Decodable {
    private enum Key: String, CodingKey, CaseIterable {
        case action, status, reason, timestamp, count, code, graceful, processed, body, early
        case delayMilliseconds = "delay_ms"
        case maximumDelayMilliseconds = "maximum_delay_ms"
        case perMillion = "per_million"
        case frameBytes = "frame_bytes"
        case leavesOpen = "leave_open"
        case omitsID = "omit_apns_id"
        case retryAfter = "retry_after"
    }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        func invalid(_ key: Key, _ text: String) -> DecodingError {
            .dataCorruptedError(forKey: key, in: values, debugDescription: text)
        }
        action = try values.decodeIfPresent(Action.self, forKey: .action) ?? .answer
        status = try values.decodeIfPresent(Int.self, forKey: .status)
        reason = try values.decodeIfPresent(String.self, forKey: .reason)
        timestamp = try values.decodeIfPresent(Int64.self, forKey: .timestamp)
        count = try values.decodeIfPresent(Int.self, forKey: .count) ?? 1
        delayMilliseconds = try values.decodeIfPresent(Int.self, forKey: .delayMilliseconds) ?? 0
        maximumDelayMilliseconds =
            try values.decodeIfPresent(Int.self, forKey: .maximumDelayMilliseconds) ?? 0
        perMillion = try values.decodeIfPresent(Int.self, forKey: .perMillion) ?? 0
        isGraceful = try values.decodeIfPresent(Bool.self, forKey: .graceful) ?? false
        isProcessed = try values.decodeIfPresent(Bool.self, forKey: .processed) ?? false
        body = try values.decodeIfPresent(String.self, forKey: .body)
        frameBytes = try values.decodeIfPresent(Int.self, forKey: .frameBytes)
        leavesOpen = try values.decodeIfPresent(Bool.self, forKey: .leavesOpen) ?? false
        omitsID = try values.decodeIfPresent(Bool.self, forKey: .omitsID) ?? false
        retryAfter = try values.decodeIfPresent(String.self, forKey: .retryAfter)
        isEarly = try values.decodeIfPresent(Bool.self, forKey: .early) ?? false
        let name = try values.decodeIfPresent(String.self, forKey: .code) ?? "INTERNAL_ERROR"
        guard let code = HTTP2ErrorCode(name: name) else {
            throw invalid(.code, "has to be a name of RFC 9113 section 7, such as REFUSED_STREAM")
        }
        self.code = code
        try check(invalid)
    }

    /// Holds the numbers within what makes sense.
    private func check(_ invalid: (Key, String) -> DecodingError) throws {
        guard (0...1_000_000).contains(count) else {
            throw invalid(.count, "has to be 0 (all) to 1000000")
        }
        guard (0...1_000_000).contains(perMillion) else {
            throw invalid(.perMillion, "has to be 0 to 1000000")
        }
        for (key, delay) in [
            (Key.delayMilliseconds, delayMilliseconds),
            (.maximumDelayMilliseconds, maximumDelayMilliseconds),
        ] where !(0...3_600_000).contains(delay) {
            throw invalid(key, "has to be 0 to 3600000")
        }
        if let status, !(200...599).contains(status) {
            throw invalid(.status, "has to be 200 to 599")
        }
        if let frameBytes, !(1...16_384).contains(frameBytes) {
            throw invalid(.frameBytes, "has to be 1 to 16384")
        }
        if let retryAfter, !retryAfter.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) {
            throw invalid(.retryAfter, "has to be printable ASCII")
        }
    }
}
