import Contracts

/// One reply of a relay's `POST /v1/send`, and the verdict that it stands for.
///
/// The outcome field of a well-formed body decides, else the HTTP status does (design §9). What the
/// body cannot say stands in header fields, which the reference contract does not have; without them
/// the reason says what the verdict is about.
package struct RelayReply: Sendable {
    package var status: Int
    package var body: [UInt8]
    /// Header fields; names compare without regard to case, the first of a name counts.
    package var headers: [(name: String, value: String)]

    package init(status: Int, headers: [(name: String, value: String)], body: [UInt8]) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The verdict about the message at a place of its batch.
    package func verdict(at index: Int) -> RelayVerdicts.Verdict {
        guard let content = content else { return verdictOfStatus(index) }
        let meaning = ReplyMeaning(of: content)
        let scope: VerdictScope? = word("PushBus-Scope")
        let exposure: Exposure? = word("PushBus-Exposure")
        let hasMore = scope != nil || exposure != nil
        let timestamp = number("PushBus-APNs-Timestamp").map(UnixMilliseconds.init)
        var cleanup: CleanupKind? = hasMore ? word("PushBus-Cleanup") : meaning.cleanup
        if content.outcome != .permanent { cleanup = nil }
        // Without a timestamp nobody can tell whether the app registered since (design §9).
        if cleanup == .dead && timestamp == nil { cleanup = .suspect }
        let mayComeBack =
            content.outcome == .retryable || content.reason == Reason.relayNotConfigured
        return RelayVerdicts.Verdict(
            index: index,
            outcome: content.outcome,
            reason: reasonHeader ?? content.reason,
            scope: scope ?? meaning.scope,
            exposure: exposure ?? meaning.exposure,
            cleanup: cleanup,
            retryAfterMilliseconds: mayComeBack ? retryAfter : nil,
            apnsTimestamp: cleanup == nil ? nil : timestamp
        )
    }

    /// Whether the body is one of the contract, so that its outcome decides.
    package var isWellFormed: Bool { content != nil }

    /// What a well-formed body says.
    struct Content {
        var outcome: Outcome
        var reason: String
        var isDeviceInvalid: Bool
    }

    private var content: Content? {
        guard body.count <= Self.bodyLimit,
            let json = try? StrictJSON(parsing: body, depth: 4),
            let outcome = json["outcome"]?.text.flatMap(Outcome.init),
            let reason = json["reason"]?.text, Self.isWord(reason),
            let isDeviceInvalid = json["device_invalid"]?.flag
        else { return nil }
        return Content(outcome: outcome, reason: reason, isDeviceInvalid: isDeviceInvalid)
    }

    /// Bytes of the longest body that is looked at.
    package static let bodyLimit = 4096

    private func verdictOfStatus(_ index: Int) -> RelayVerdicts.Verdict {
        let (outcome, exposure): (Outcome, Exposure) =
            switch status {
            // The request was not taken.
            case 408, 429: (.retryable, .none)
            case 400..<500: (.permanent, .none)
            // A redirect is not followed, so nobody has seen the message.
            case 300..<400: (.retryable, .none)
            // It may have been passed on before something failed.
            default: (.retryable, .ambiguous)
            }
        return RelayVerdicts.Verdict(
            index: index,
            outcome: outcome,
            reason: "RelayStatus\(status)",
            scope: .relay,
            exposure: exposure,
            retryAfterMilliseconds: outcome == .retryable ? retryAfter : nil
        )
    }

    // MARK: - Header fields

    private func header(_ name: String) -> String? {
        let wanted = name.lowercased()
        return headers.first { $0.name.lowercased() == wanted }?.value
    }

    private func word<Word: RawRepresentable<String>>(_ name: String) -> Word? {
        header(name).flatMap(Word.init(rawValue:))
    }

    private func number(_ name: String) -> Int64? {
        header(name).flatMap { Int64($0) }.flatMap { $0 > 0 ? $0 : nil }
    }

    private var reasonHeader: String? {
        header("PushBus-Reason").flatMap { Self.isWord($0) ? $0 : nil }
    }

    /// A date is compared with the relay's own `Date`: the clocks of the two sides may differ.
    private var retryAfter: Int64? {
        header("Retry-After").flatMap {
            RetryAfter.milliseconds($0, now: header("Date").flatMap(RetryAfter.date))
        }
    }

    /// Reasons are kept in receipts as they come, so they have to be words.
    private static func isWord(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0)
                    || (0x61...0x7A).contains($0) || $0 == 0x5F || $0 == 0x2D
            }
    }
}
