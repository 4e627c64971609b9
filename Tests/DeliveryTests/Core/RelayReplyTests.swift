import Contracts
import DeliveryCore
import Testing

/// Replies of `POST /v1/send` and the verdicts they stand for.
@Suite struct RelayReplyTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var status: Int
        var outcome: Outcome
        var reason: String
        var isDeviceInvalid = false
        var retryAfter: String?
        var scope: VerdictScope
        var exposure: Exposure
        var cleanup: CleanupKind?
        var waits: Int64?

        var testDescription: String { "\(status) \(outcome) \(reason)" }

        init(
            _ status: Int,
            _ outcome: Outcome,
            _ reason: String,
            _ scope: VerdictScope,
            _ exposure: Exposure
        ) {
            self.status = status
            self.outcome = outcome
            self.reason = reason
            self.scope = scope
            self.exposure = exposure
        }

        func with(_ change: (inout Row) -> Void) -> Row {
            var row = self
            change(&row)
            return row
        }
    }

    /// Contracts §1.2, row by row, as a relay without header fields of its own answers.
    static let contract: [Row] = [
        Row(200, .accepted, "Accepted", .message, .answered),
        Row(200, .permanent, "Unregistered", .device, .answered).with {
            $0.isDeviceInvalid = true
            $0.cleanup = .suspect
        },
        Row(200, .permanent, "DeviceOrEnvironmentMismatch", .device, .answered).with {
            $0.cleanup = .suspect
        },
        Row(200, .permanent, "ProviderConfigurationOrPayload", .message, .answered),
        Row(200, .retryable, "ProviderUnavailable", .provider, .answered),
        Row(200, .retryable, "NetworkUnavailable", .provider, .ambiguous),
        Row(200, .expired, "Expired", .message, .none),
        Row(200, .permanent, "PayloadTooLarge", .message, .none),
        Row(200, .permanent, "RelayNotConfigured", .relay, .none),
        Row(400, .permanent, "InvalidRequest", .message, .none),
        Row(400, .permanent, "EnvironmentDisabled", .relay, .none),
        Row(404, .permanent, "NotFound", .relay, .none),
        Row(405, .permanent, "MethodNotAllowed", .relay, .none),
        Row(408, .retryable, "RequestTimeout", .connection, .none),
        Row(413, .permanent, "RequestTooLarge", .message, .none),
        Row(415, .permanent, "UnsupportedMediaType", .relay, .none),
        Row(429, .retryable, "RateLimited", .relay, .none).with {
            $0.retryAfter = "60"
            $0.waits = 60_000
        },
        Row(503, .retryable, "RelayBusy", .relay, .none).with {
            $0.retryAfter = "1"
            $0.waits = 1000
        },
        Row(503, .permanent, "RelayNotConfigured", .relay, .none).with {
            $0.retryAfter = "60"
            $0.waits = 60_000
        },
        // A word that nobody knows yet is kept.
        Row(200, .retryable, "SomethingNew", .message, .ambiguous),
        Row(200, .permanent, "SomethingNew", .message, .answered),
        // The outcome decides, whatever the status says.
        Row(500, .accepted, "Accepted", .message, .answered),
        Row(400, .retryable, "ProviderUnavailable", .provider, .answered),
        Row(200, .retryable, "Accepted", .message, .ambiguous),
    ]

    private func reply(
        _ status: Int,
        _ body: String,
        _ headers: [(name: String, value: String)] = []
    ) -> RelayReply {
        RelayReply(status: status, headers: headers, body: Array(body.utf8))
    }

    private func body(_ row: Row) -> String {
        """
        {"outcome":"\(row.outcome.rawValue)","reason":"\(row.reason)",\
        "device_invalid":\(row.isDeviceInvalid)}
        """
    }

    @Test(arguments: contract) func contractAlone(_ row: Row) {
        let headers = row.retryAfter.map { [(name: "retry-after", value: $0)] } ?? []
        let verdict = reply(row.status, body(row), headers).verdict(at: 7)
        #expect(
            verdict
                == RelayVerdicts.Verdict(
                    index: 7,
                    outcome: row.outcome,
                    reason: row.reason,
                    scope: row.scope,
                    exposure: row.exposure,
                    cleanup: row.cleanup,
                    retryAfterMilliseconds: row.waits
                )
        )
    }

    @Test func headersSayMoreThanTheBody() {
        let dead = reply(
            200,
            #"{"outcome":"permanent","reason":"Unregistered","device_invalid":true}"#,
            [
                ("PushBus-Reason", "ExpiredToken"), ("pushbus-scope", "device"),
                ("PushBus-Exposure", "answered"), ("PushBus-Cleanup", "dead"),
                ("PushBus-APNs-Timestamp", "1700000000123"), ("Retry-After", "5"),
            ]
        )
        #expect(
            dead.verdict(at: 0)
                == RelayVerdicts.Verdict(
                    index: 0,
                    outcome: .permanent,
                    reason: "ExpiredToken",
                    scope: .device,
                    exposure: .answered,
                    cleanup: .dead,
                    apnsTimestamp: UnixMilliseconds(1_700_000_000_123)
                )
        )
        let held = reply(
            200,
            #"{"outcome":"retryable","reason":"ProviderUnavailable","device_invalid":false}"#,
            [
                ("PushBus-Reason", "BadTopic"), ("PushBus-Scope", "topic"),
                ("PushBus-Exposure", "none"), ("Retry-After", "30"),
            ]
        ).verdict(at: 0)
        #expect((held.reason, held.scope, held.exposure) == ("BadTopic", .topic, .none))
        #expect(held.retryAfterMilliseconds == 30_000)
    }

    @Test func nothingIsCleanedUpOnDoubtfulWord() {
        let words = [("PushBus-Scope", "device"), ("PushBus-Exposure", "answered")]
        let untimed = reply(
            200,
            #"{"outcome":"permanent","reason":"Unregistered","device_invalid":true}"#,
            words + [("PushBus-Cleanup", "dead")]
        )
        #expect(untimed.verdict(at: 0).cleanup == .suspect)
        let accepted = reply(
            200,
            #"{"outcome":"accepted","reason":"Accepted","device_invalid":true}"#,
            words + [("PushBus-Cleanup", "dead"), ("PushBus-APNs-Timestamp", "1700000000123")]
        )
        #expect(accepted.verdict(at: 0).cleanup == nil)
    }

    @Test(arguments: ["1.5", "-3", "0", "soon", "Mon, 30 Nov 2026 10:00:00 GMT"])
    func waitsThatCannotBeToldAreLeftOut(_ text: String) {
        let reply = reply(
            429,
            #"{"outcome":"retryable","reason":"RateLimited","device_invalid":false}"#,
            [("Retry-After", text)]
        )
        #expect(reply.verdict(at: 0).retryAfterMilliseconds == nil)
    }

    @Test func aDateIsComparedWithTheRelaysOwnClock() {
        let reply = reply(
            503,
            #"{"outcome":"retryable","reason":"RelayBusy","device_invalid":false}"#,
            [
                ("Date", "Mon, 30 Nov 2026 09:59:30 GMT"),
                ("Retry-After", "Mon, 30 Nov 2026 10:00:00 GMT"),
            ]
        )
        #expect(reply.verdict(at: 0).retryAfterMilliseconds == 30_000)
    }

    @Test(
        arguments: [
            (200, Outcome.retryable, Exposure.ambiguous), (204, .retryable, .ambiguous),
            (302, .retryable, .none), (400, .permanent, .none), (403, .permanent, .none),
            (404, .permanent, .none), (408, .retryable, .none), (429, .retryable, .none),
            (500, .retryable, .ambiguous), (502, .retryable, .ambiguous),
            (503, .retryable, .ambiguous),
        ] as [(Int, Outcome, Exposure)]
    )
    func theStatusDecidesWhenTheBodyDoesNot(
        _ status: Int,
        _ outcome: Outcome,
        _ exposure: Exposure
    ) {
        let bodies = [
            "", "<html>", "{}", "[]", #"{"outcome":"accepted"}"#,
            #"{"outcome":"maybe","reason":"Accepted","device_invalid":false}"#,
            #"{"outcome":"accepted","reason":"a b","device_invalid":false}"#,
            #"{"outcome":"accepted","reason":"Accepted","device_invalid":"no"}"#,
            String(repeating: " ", count: RelayReply.bodyLimit)
                + #"{"outcome":"accepted","reason":"Accepted","device_invalid":false}"#,
        ]
        for body in bodies {
            let verdict = reply(status, body, [("Retry-After", "9")]).verdict(at: 0)
            #expect(verdict.outcome == outcome)
            #expect(verdict.exposure == exposure)
            #expect(verdict.scope == .relay)
            #expect(verdict.reason == "RelayStatus\(status)")
            #expect(verdict.retryAfterMilliseconds == (outcome == .retryable ? 9000 : nil))
        }
    }

    @Test func theRequestIsTheContractsOne() throws {
        let message = RelaySend.Message(
            deviceToken: try #require(DeviceToken("00ff")),
            environment: .sandbox,
            eventID: Samples.event(1),
            expiresAt: UnixSeconds(1_800_000_000),
            envelope: Envelope(
                keyID: try #require(KeyID(hash: Array(repeating: 0xAB, count: 16))),
                identity: String(repeating: "0a", count: 32),
                nonce: Blob(Array(repeating: 0xFF, count: 12)),
                ciphertext: Blob(Array(repeating: 0xFB, count: 16))
            ),
            isYoung: true
        )
        let expected = """
            {"device_token":"00ff","environment":"sandbox","event_id":"\(Samples.event(1))",\
            "expires_at":1800000000,"envelope":{"version":1,\
            "key_id":"\(message.envelope.keyID)","identity":"\(message.envelope.identity)",\
            "nonce":"////////////////","ciphertext":"+/v7+/v7+/v7+/v7+/v7+w=="}}
            """
        #expect(String(decoding: RelayRequest.body(message), as: UTF8.self) == expected)
    }

    @Test(
        arguments: [
            ("https://relay.example", "https://relay.example/v1/send"),
            ("https://relay.example/", "https://relay.example/v1/send"),
            ("https://relay.example:8443/a/v1/send", "https://relay.example:8443/a/v1/send"),
            ("https://[::1]:8443", "https://[::1]:8443/v1/send"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1/send"),
            ("http://127.0.0.1", nil), ("http://127.0.0.1:0", nil), ("http://localhost:80", nil),
            ("http://relay.example:80", nil), ("http://127.0.0.1:80@elsewhere", nil),
            ("https://", nil), ("https://a:b@relay.example", nil), ("https://a/?x=1", nil),
            ("https://a/#f", nil), ("https://a:99999", nil), ("https://a b", nil),
            ("ftp://relay.example", nil), ("relay.example", nil), ("", nil),
        ] as [(String, String?)]
    )
    func addresses(_ text: String, _ url: String?) {
        #expect(RelayAddress(text)?.sendURL == url)
    }
}
