import Contracts
import RelayCore
import Testing

/// What one documented answer must lead to.
struct ExpectedRuling: Sendable, CustomTestStringConvertible {
    let status: Int
    let reason: String
    let outcome: Outcome
    let publicReason: String
    let scope: VerdictScope
    let cleanup: CleanupKind?
    /// Milliseconds.
    let wait: Int64?
    let alarms: Bool

    var testDescription: String { "\(status) \(reason)" }

    init(
        _ status: Int,
        _ reason: String,
        _ outcome: Outcome,
        _ publicReason: String,
        _ scope: VerdictScope,
        cleanup: CleanupKind? = nil,
        wait: Int64? = nil,
        alarms: Bool = false
    ) {
        self.status = status
        self.reason = reason
        self.outcome = outcome
        self.publicReason = publicReason
        self.scope = scope
        self.cleanup = cleanup
        self.wait = wait
        self.alarms = alarms
    }
}

@Suite("Classification of APNs answers")
struct ProviderRuleTests {
    static func refused(_ status: Int, _ reason: String) -> ExpectedRuling {
        ExpectedRuling(
            status,
            reason,
            .permanent,
            "ProviderConfigurationOrPayload",
            .message,
            alarms: true
        )
    }

    static func held(
        _ status: Int,
        _ reason: String,
        _ scope: VerdictScope,
        wait: Int64 = 30_000
    ) -> ExpectedRuling {
        ExpectedRuling(
            status,
            reason,
            .retryable,
            "ProviderUnavailable",
            scope,
            wait: wait,
            alarms: true
        )
    }

    static func failed(_ status: Int, _ reason: String) -> ExpectedRuling {
        ExpectedRuling(status, reason, .retryable, "ProviderUnavailable", .provider, wait: 15_000)
    }

    static func busy(_ reason: String) -> ExpectedRuling {
        ExpectedRuling(429, reason, .retryable, "ProviderUnavailable", .device, wait: 5_000)
    }

    static let expected: [ExpectedRuling] = [
        refused(400, "BadCollapseId"),
        ExpectedRuling(
            400,
            "BadDeviceToken",
            .permanent,
            "DeviceOrEnvironmentMismatch",
            .device,
            cleanup: .suspect
        ),
        refused(400, "BadExpirationDate"), refused(400, "BadMessageId"),
        refused(400, "BadPriority"), held(400, "BadTopic", .topic),
        ExpectedRuling(
            400,
            "DeviceTokenNotForTopic",
            .permanent,
            "ProviderConfigurationOrPayload",
            .device,
            cleanup: .topic
        ),
        refused(400, "DuplicateHeaders"),
        ExpectedRuling(
            400,
            "IdleTimeout",
            .retryable,
            "ProviderUnavailable",
            .connection,
            wait: 1_000
        ),
        refused(400, "InvalidPushType"), refused(400, "MissingDeviceToken"),
        held(400, "MissingTopic", .topic), refused(400, "PayloadEmpty"),
        held(400, "TopicDisallowed", .topic), held(403, "BadCertificate", .provider),
        held(403, "BadCertificateEnvironment", .provider),
        held(403, "BadEnvironmentKeyIdInToken", .provider),
        held(403, "BadEnvironmentKeyInToken", .provider),
        held(403, "ExpiredProviderToken", .provider), refused(403, "Forbidden"),
        held(403, "InvalidProviderToken", .provider),
        held(403, "MissingProviderToken", .provider),
        held(403, "UnrelatedKeyIdInToken", .provider), refused(404, "BadPath"),
        refused(405, "MethodNotAllowed"),
        ExpectedRuling(410, "ExpiredToken", .permanent, "Unregistered", .device, cleanup: .dead),
        ExpectedRuling(410, "Unregistered", .permanent, "Unregistered", .device, cleanup: .dead),
        refused(413, "PayloadTooLarge"),
        held(429, "TooManyProviderTokenUpdates", .connection, wait: 1_000),
        busy("TooManyRequests"),
        failed(500, "InternalServerError"), failed(503, "ServiceUnavailable"),
        failed(503, "Shutdown"),
        // Not documented: kept as they came, classified by status, never a dead device.
        refused(400, "SomethingNew"), refused(410, "SomethingNew"), refused(451, "SomethingNew"),
        failed(500, "SomethingNew"), failed(599, "SomethingNew"),
        busy("SomethingNew"),
        // Documented under another status once: the reason decides.
        ExpectedRuling(400, "ExpiredToken", .permanent, "Unregistered", .device, cleanup: .dead),
    ]

    @Test("Every status and reason", arguments: expected)
    func ruling(expected: ExpectedRuling) {
        let body = #"{"reason":"\#(expected.reason)","timestamp":1700000000123}"#
        let answer = ProviderAnswer(
            status: expected.status,
            body: Array(body.utf8),
            isTruncated: false,
            retryAfter: nil,
            now: UnixSeconds(1_800_000_000)
        )
        let treatment = ProviderRule.treatment(of: answer)
        let verdict = treatment.verdict(for: answer)
        #expect(verdict.outcome == expected.outcome)
        #expect(verdict.reason == expected.reason)
        #expect(verdict.publicReason == expected.publicReason)
        #expect(verdict.scope == expected.scope)
        #expect(verdict.cleanup == expected.cleanup)
        #expect(verdict.exposure == .answered)
        #expect(verdict.isDeviceInvalid == (expected.publicReason == "Unregistered"))
        #expect(verdict.retryAfterMilliseconds == expected.wait)
        #expect(verdict.apnsTimestamp == UnixMilliseconds(1_700_000_000_123))
        #expect(treatment.raisesAlarm == expected.alarms)
    }

    @Test("The table has every reason of Apple's page once, and the tests have each of them")
    func complete() {
        let reasons = ProviderRule.table.map(\.reason)
        #expect(Set(reasons).count == reasons.count)
        let tested = Set(Self.expected.map { "\($0.status) \($0.reason)" })
        for rule in ProviderRule.table { #expect(tested.contains("\(rule.status) \(rule.reason)")) }
    }

    private func verdict(_ status: Int, _ body: String, truncated: Bool = false) -> RelayVerdict {
        let answer = ProviderAnswer(
            status: status,
            body: Array(body.utf8),
            isTruncated: truncated,
            retryAfter: nil,
            now: UnixSeconds(1_800_000_000)
        )
        return ProviderRule.treatment(of: answer).verdict(for: answer)
    }

    @Test("200 without a body is accepted, with one it contradicts itself")
    func accepted() {
        #expect(verdict(200, "").outcome == .accepted)
        #expect(verdict(200, "").reason == "Accepted")
        #expect(verdict(200, #"{"reason":"Unregistered"}"#).publicReason == "NetworkUnavailable")
        #expect(verdict(200, "x").outcome == .retryable)
    }

    @Test(
        "A body that cannot be read is retryable and never cleans anything up",
        arguments: [
            "", "<html>", "{", "{}", #"{"reason":1}"#, #"{"reason":""}"#,
            #"{"reason":"Unregistered","timestamp":"soon"}"#,
            #"{"reason":"Unregistered","reason":"Unregistered"}"#,
        ]
    )
    func unreadable(body: String) {
        for status in [400, 403, 410, 413] {
            let verdict = verdict(status, body)
            #expect(verdict.outcome == .retryable)
            #expect(verdict.publicReason == "NetworkUnavailable")
            #expect(verdict.retryAfterMilliseconds == 1_000)
            #expect(verdict.cleanup == nil)
            #expect(!verdict.isDeviceInvalid)
        }
        #expect(verdict(503, body).publicReason == "ProviderUnavailable")
        #expect(verdict(302, body).publicReason == "ProviderConfigurationOrPayload")
    }

    @Test(
        "A reason that nobody documented is kept, in printable characters and at most 64",
        arguments: [
            ("a b", "a b"), (#"50% \"off\""#, #"50% "off""#), (#"\r\nX: y"#, #"\u{d}\u{a}X: y"#),
            ("gr\u{fc}n", #"gr\u{fc}n"#), (#"\\"#, #"\u{5c}"#),
            (String(repeating: "y", count: 99), String(repeating: "y", count: 64)),
            (String(repeating: "y", count: 63) + "\u{fc}z", String(repeating: "y", count: 63)),
        ]
    )
    func unknownText(written: String, kept: String) {
        for status in [400, 403, 410, 413] {
            let verdict = verdict(status, #"{"reason":"\#(written)"}"#)
            #expect(verdict.reason == kept)
            #expect(verdict.outcome == .permanent)
            #expect(verdict.publicReason == "ProviderConfigurationOrPayload")
            #expect(verdict.cleanup == nil)
            #expect(!verdict.isDeviceInvalid)
        }
        #expect(verdict(503, #"{"reason":"\#(written)"}"#).reason == kept)
    }

    @Test("What a peer may have sent back does not go into the log")
    func loggable() {
        for rule in ProviderRule.table { #expect(ProviderRule.mayBeLogged(rule.reason)) }
        #expect(ProviderRule.mayBeLogged("SomethingNew"))
        for word in ["", "a b", "abcdef01", String(repeating: "0a", count: 32)] {
            #expect(!ProviderRule.mayBeLogged(word))
        }
    }

    @Test("An answer beyond 4096 bytes is not believed")
    func oversized() {
        let long = #"{"reason":"Unregistered"}"# + String(repeating: " ", count: 4096)
        #expect(verdict(410, long).publicReason == "NetworkUnavailable")
        #expect(verdict(410, #"{"reason":"Unregistered"}"#, truncated: true).cleanup == nil)
    }

    @Test("A dead token without a timestamp is only suspect")
    func noTimestamp() {
        for reason in ["Unregistered", "ExpiredToken"] {
            let verdict = verdict(410, #"{"reason":"\#(reason)"}"#)
            #expect(verdict.cleanup == .suspect)
            #expect(verdict.isDeviceInvalid)
            #expect(verdict.apnsTimestamp == nil)
        }
    }

    @Test("Retry-After of APNs is honoured in seconds and as a date, up to 15 minutes")
    func retryAfter() {
        func wait(_ text: String?) -> Int64? {
            let answer = ProviderAnswer(
                status: 503,
                body: [],
                isTruncated: false,
                retryAfter: text,
                now: UnixSeconds(1_792_567_560)
            )
            return ProviderRule.treatment(of: answer).verdict(for: answer).retryAfterMilliseconds
        }
        #expect(wait("120") == 120_000)
        #expect(wait("999999") == 900_000)
        #expect(wait("1") == 15_000)
        #expect(wait(nil) == 15_000)
        #expect(wait("-5") == 15_000)
        #expect(wait("Wed, 21 Oct 2026 07:28:00 GMT") == 120_000)
        #expect(wait("Wed, 21 Oct 2026 07:00:00 GMT") == 15_000)
        #expect(wait("Wed, 21 Oct 2026 23:28:00 GMT") == 900_000)
        #expect(wait("soon") == 15_000)
    }
}
