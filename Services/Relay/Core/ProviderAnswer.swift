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
        /// `{"reason": …}` as 1 to 64 characters of printable ASCII, with the timestamp that comes
        /// with 410.
        case reason(String, timestamp: UnixMilliseconds?)
        /// Too long, cut off or not that JSON.
        case unusable
    }

    /// Bytes of an answer's body that are looked at.
    package static let bodyLimit = 4096
    private static let longestWait: Int64 = 900_000

    package init(status: Int, body: Body, retryAfterMilliseconds: Int64? = nil) {
        self.status = status
        self.body = body
        self.retryAfterMilliseconds = retryAfterMilliseconds
    }

    /// Reads the parts of an HTTP answer; `now` is what a date in `retryAfter` is compared with.
    package init(
        status: Int,
        body: [UInt8],
        isTruncated: Bool,
        retryAfter: String?,
        now: UnixSeconds
    ) {
        self.status = status
        self.body = Self.read(body, isTruncated: isTruncated)
        retryAfterMilliseconds = retryAfter.flatMap { text in
            RetryAfter.milliseconds(text, now: now).map { min($0, Self.longestWait) }
        }
    }

    /// Reads the JSON that APNs puts into an answer or a GOAWAY frame.
    package static func read(_ bytes: [UInt8], isTruncated: Bool = false) -> Body {
        if isTruncated || bytes.count > bodyLimit { return .unusable }
        if bytes.isEmpty { return .empty }
        guard
            let json = try? StrictJSON(parsing: bytes, depth: 4),
            let text = json["reason"]?.text, !text.isEmpty
        else { return .unusable }
        let reason = plain(text)
        guard let number = json["timestamp"] else { return .reason(reason, timestamp: nil) }
        guard let milliseconds = number.safeInteger, milliseconds > 0 else { return .unusable }
        return .reason(reason, timestamp: UnixMilliseconds(milliseconds))
    }

    private static let reasonLimit = 64

    /// A reason goes into headers and receipts: printable ASCII stays as it came, anything else is
    /// written as `\u{hex}`, and what does not fit into 64 characters is left out.
    private static func plain(_ text: String) -> String {
        var plain = ""
        for scalar in text.unicodeScalars {
            let isPrintable = (0x20...0x7e).contains(scalar.value) && scalar != "\\"
            let piece =
                isPrintable ? String(scalar) : "\\u{\(String(scalar.value, radix: 16))}"
            if plain.utf8.count + piece.utf8.count > reasonLimit { break }
            plain += piece
        }
        return plain
    }
}
