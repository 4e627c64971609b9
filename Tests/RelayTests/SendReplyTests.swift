import Contracts
import RelayCore
import Testing

@Suite("Replies of POST /v1/send")
struct SendReplyTests {
    private func text(_ reply: SendReply) -> String { String(decoding: reply.body, as: UTF8.self) }

    private func header(_ reply: SendReply, _ name: String) -> String? {
        reply.headers.first { $0.name == name }?.value
    }

    @Test("The body is the three fields in order")
    func body() {
        #expect(
            text(.notFound)
                == #"{"outcome":"permanent","reason":"NotFound","device_invalid":false}"#
        )
        #expect(
            text(.rateLimited)
                == #"{"outcome":"retryable","reason":"RateLimited","device_invalid":false}"#
        )
    }

    @Test("Local refusals have their status, outcome and reason")
    func local() {
        let rows: [(SendReply, Int, Outcome, String)] = [
            (.notFound, 404, .permanent, "NotFound"),
            (.methodNotAllowed, 405, .permanent, "MethodNotAllowed"),
            (.unsupportedMediaType, 415, .permanent, "UnsupportedMediaType"),
            (.requestTooLarge, 413, .permanent, "RequestTooLarge"),
            (.requestTimeout, 408, .retryable, "RequestTimeout"),
            (.rateLimited, 429, .retryable, "RateLimited"),
            (.busy, 503, .retryable, "RelayBusy"),
            (.notConfigured, 503, .retryable, "RelayNotConfigured"),
            (.invalidRequest, 400, .permanent, "InvalidRequest"),
            (SendReply(.environmentDisabled), 400, .permanent, "EnvironmentDisabled"),
            (SendReply(.expired), 200, .expired, "Expired"),
            (SendReply(.payloadTooLarge), 200, .permanent, "PayloadTooLarge"),
            (SendReply(.network(.ambiguous)), 200, .retryable, "NetworkUnavailable"),
        ]
        for (reply, status, outcome, reason) in rows {
            #expect(reply.status == status)
            #expect(reply.outcome == outcome)
            #expect(reply.reason == reason)
            #expect(!reply.isDeviceInvalid)
        }
        #expect(header(.methodNotAllowed, "Allow") == "POST")
        #expect(header(.rateLimited, "Retry-After") == "60")
        #expect(header(.busy, "Retry-After") == "1")
        #expect(header(.notConfigured, "Retry-After") == "60")
    }

    @Test("What the body cannot say stands in headers")
    func headers() {
        let answer = ProviderAnswer(
            status: 410,
            body: .reason("ExpiredToken", timestamp: UnixMilliseconds(1_700_000_000_123))
        )
        let reply = SendReply(ProviderRule.treatment(of: answer).verdict(for: answer))
        #expect(reply.status == 200)
        #expect(reply.isDeviceInvalid)
        #expect(reply.reason == "Unregistered")
        #expect(header(reply, "PushBus-Reason") == "ExpiredToken")
        #expect(header(reply, "PushBus-Scope") == "device")
        #expect(header(reply, "PushBus-Cleanup") == "dead")
        #expect(header(reply, "PushBus-Exposure") == "answered")
        #expect(header(reply, "PushBus-APNs-Timestamp") == "1700000000123")
        #expect(header(reply, "Retry-After") == nil)
    }

    @Test("Waits are whole seconds, rounded up")
    func retryAfter() {
        let held = RelayVerdict.held(
            reason: "BadTopic",
            scope: .topic,
            retryAfterMilliseconds: 1_001
        )
        #expect(header(SendReply(held), "Retry-After") == "2")
        #expect(SendReply(held).reason == "ProviderUnavailable")
    }
}
