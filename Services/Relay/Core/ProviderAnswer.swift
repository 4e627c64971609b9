import Contracts

/// A complete answer of APNs, read as Apple's page "Handling notification responses from APNs"
/// describes it.
package struct ProviderAnswer: Hashable, Sendable {
    package var status: Int
    package var body: Body
    /// From `Retry-After`, if present; capped at 15 minutes.
    package var retryAfterMilliseconds: Int64?

    package enum Body: Hashable, Sendable {
        case empty
        /// `{"reason": …}`, with the timestamp that comes with 410.
        case reason(String, timestamp: UnixMilliseconds?)
        /// Too long, cut off or not that JSON.
        case unusable
    }

    /// Bytes of an answer's body that are looked at.
    package static let bodyLimit = 4096

    package init(status: Int, body: Body, retryAfterMilliseconds: Int64? = nil) {
        self.status = status
        self.body = body
        self.retryAfterMilliseconds = retryAfterMilliseconds
    }

    /// Reads the parts of an HTTP answer.
    package init(status: Int, body: [UInt8], isTruncated: Bool, retryAfter: String?) {
        self.status = status
        self.body = Self.read(body, isTruncated: isTruncated)
        if let seconds = retryAfter.flatMap({ Int64($0) }), seconds >= 0 {
            retryAfterMilliseconds = min(seconds, 900) * 1000
        }
    }

    /// Reads the JSON that APNs puts into an answer or a GOAWAY frame.
    package static func read(_ bytes: [UInt8], isTruncated: Bool = false) -> Body {
        if isTruncated || bytes.count > bodyLimit { return .unusable }
        if bytes.isEmpty { return .empty }
        guard
            let json = try? StrictJSON(parsing: bytes, depth: 4),
            let reason = json["reason"]?.text, isWord(reason)
        else { return .unusable }
        guard let number = json["timestamp"] else { return .reason(reason, timestamp: nil) }
        guard let milliseconds = number.safeInteger, milliseconds > 0 else { return .unusable }
        return .reason(reason, timestamp: UnixMilliseconds(milliseconds))
    }

    /// A reason goes into headers, counters and log lines as it is, so it has to be a plain word.
    private static func isWord(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5a).contains($0)
                    || (0x61...0x7a).contains($0) || $0 == 0x5f || $0 == 0x2d
            }
    }
}
