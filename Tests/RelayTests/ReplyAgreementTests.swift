import Contracts
import DeliveryCore
import RelayCore
import Testing

/// What the Relay writes as a reply of `POST /v1/send` and what Delivery reads out of it, which have
/// no code in common.
@Suite("Replies as Delivery reads them")
struct ReplyAgreementTests {
    private static let own: [RelayVerdict] = [
        .expired, .payloadTooLarge, .environmentDisabled, .notConfigured, .busy(), .invalidRequest,
        .network(.none, retryAfterMilliseconds: 1_500), .network(.ambiguous),
        .throttled(retryAfterMilliseconds: 5_001),
        .held(reason: "TopicDisallowed", scope: .topic, retryAfterMilliseconds: 30_000),
        .held(reason: "CertificateNotTrusted", scope: .provider, retryAfterMilliseconds: 1),
    ]

    /// The verdicts of all answers that APNs may give.
    private static var ofAPNs: [RelayVerdict] {
        var answers = [
            ProviderAnswer(status: 200, body: .empty), ProviderAnswer(status: 400, body: .unusable),
            ProviderAnswer(status: 302, body: .empty), ProviderAnswer(status: 429, body: .empty),
        ]
        for (status, reason) in ProviderRule.table.map({ ($0.status, $0.reason) })
            + [
                (400, "SomethingNew"), (410, "SomethingNew"), (429, "SomethingNew"),
                (599, "New_1-b"),
            ]
        {
            for timestamp in [nil, UnixMilliseconds(1_700_000_000_123)] {
                answers.append(
                    ProviderAnswer(status: status, body: .reason(reason, timestamp: timestamp))
                )
            }
        }
        return answers.map { ProviderRule.treatment(of: $0).verdict(for: $0) }
    }

    private func read(_ reply: SendReply) -> RelayVerdicts.Verdict {
        RelayReply(
            status: reply.status,
            headers: reply.headers.map { ($0.name, $0.value) },
            body: reply.body
        ).verdict(at: 3)
    }

    @Test("Every verdict arrives over HTTP as it does over the bus")
    func verdicts() {
        let all = Self.own + Self.ofAPNs
        #expect(Set(all.map(\.outcome)) == Set(Outcome.allCases))
        #expect(Set(all.map(\.scope)) == Set(VerdictScope.allCases))
        for verdict in all {
            var expected = verdict.entry(at: 3)
            // Whole seconds, rounded up.
            expected.retryAfterMilliseconds = expected.retryAfterMilliseconds.map {
                ($0 + 999) / 1_000 * 1_000
            }
            // Of use for a clean-up alone.
            if expected.cleanup == nil { expected.apnsTimestamp = nil }
            #expect(read(SendReply(verdict)) == expected)
        }
    }

    @Test(
        "A reason that is no word is replaced by the word of the contract, and nothing else changes"
    )
    func oddReason() {
        let answer = ProviderAnswer(status: 400, body: .reason("a b", timestamp: nil))
        let verdict = ProviderRule.treatment(of: answer).verdict(for: answer)
        var expected = verdict.entry(at: 3)
        expected.reason = "ProviderConfigurationOrPayload"
        #expect(read(SendReply(verdict)) == expected)
    }

    @Test("Refusals of the request leave the message to be sent again, or end it, without exposure")
    func refusals() {
        for (reply, outcome, wait) in [
            (SendReply.busy, .retryable, 1_000), (.rateLimited, .retryable, 60_000),
            (.requestTimeout, .retryable, nil), (.notConfigured, .retryable, 60_000),
            (.notFound, .permanent, nil), (.methodNotAllowed, .permanent, nil),
            (.unsupportedMediaType, .permanent, nil), (.requestTooLarge, .permanent, nil),
            (.invalidRequest, .permanent, nil),
        ] as [(SendReply, Outcome, Int64?)] {
            let verdict = read(reply)
            #expect(verdict.outcome == outcome)
            #expect(verdict.reason == reply.reason)
            #expect(verdict.exposure == Exposure.none)
            #expect(verdict.cleanup == nil)
            #expect(verdict.retryAfterMilliseconds == wait)
        }
    }
}
