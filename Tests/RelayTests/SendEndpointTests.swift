import Contracts
import HTTP2
import HTTPClient
import HTTPServer
import RelayCore
import RelayService
import ServiceKit
import TestKit
import Testing

@Suite("POST /v1/send", .timeLimit(.minutes(1)))
struct SendEndpointTests {
    @Test("An accepted message: reply, headers and what APNs got")
    func accepted() async throws {
        let relay = try await RelayFixture()
        let reply = try await relay.post(SendRequestTests.body())
        #expect(reply.status == 200)
        #expect(
            reply.text == #"{"outcome":"accepted","reason":"Accepted","device_invalid":false}"#
        )
        #expect(reply.header("Cache-Control") == "no-store")
        #expect(reply.header("Content-Type") == "application/json")
        let seen = try #require(relay.apns.seen.value.first)
        #expect(seen.path == "/3/device/abcdef01")
        #expect(seen.headers["apns-collapse-id"] == "11111111-1111-4111-8111-111111111111")
        #expect(seen.headers["apns-id"] != seen.headers["apns-collapse-id"])
        let payload = try StrictJSON(parsing: seen.body)
        #expect(payload["serverbee_envelope"]?["version"]?.safeInteger == 1)
        #expect(payload["aps"]?["alert"]?["title"]?.text == "ServerBee")
        try await relay.stop()
    }

    @Test("What the provider says about a device stands in body and headers")
    func deviceVerdict() async throws {
        let relay = try await RelayFixture { push, connection in
            connection.refuse(push, 410, "Unregistered", timestamp: 1_700_000_000_123)
        }
        let reply = try await relay.post(SendRequestTests.body())
        #expect(reply.status == 200)
        #expect(
            reply.text == #"{"outcome":"permanent","reason":"Unregistered","device_invalid":true}"#
        )
        #expect(reply.header("PushBus-Scope") == "device")
        #expect(reply.header("PushBus-APNs-Timestamp") == "1700000000123")
        #expect(reply.header("PushBus-Cleanup") == "dead")
        try await relay.stop()
    }

    @Test("Refused keys are retryable with a time to come back")
    func providerVerdict() async throws {
        let relay = try await RelayFixture { push, connection in
            connection.refuse(push, 403, "InvalidProviderToken")
        }
        let reply = try await relay.post(SendRequestTests.body())
        #expect(
            reply.text
                == #"{"outcome":"retryable","reason":"ProviderUnavailable","device_invalid":false}"#
        )
        #expect(reply.header("Retry-After") == "30")
        #expect(reply.header("PushBus-Scope") == "provider")
        #expect(reply.header("PushBus-Reason") == "InvalidProviderToken")
        try await relay.stop()
    }

    @Test("Other paths are not found, credential paths of other designs included")
    func paths() async throws {
        let relay = try await RelayFixture()
        for path in ["/", "/v1", "/v1/send/", "/v1/challenges", "/v1/attest", "/v1/grants/inspect"]
        {
            let reply = try await relay.post(Array("{}".utf8), path: path)
            #expect(reply.status == 404)
            #expect(reply.reason == "NotFound")
        }
        let reply = try await relay.post([], method: "GET")
        #expect(reply.status == 405)
        #expect(reply.header("Allow") == "POST")
        #expect(reply.reason == "MethodNotAllowed")
        try await relay.stop()
    }

    @Test("Only JSON without encoding is taken; parameters are allowed")
    func mediaTypes() async throws {
        let relay = try await RelayFixture()
        let body = Array(SendRequestTests.body().utf8)
        let good = [
            [("Content-Type", "application/json; charset=utf-8")],
            [("Content-Type", "Application/JSON"), ("Content-Encoding", "identity")],
        ]
        for headers in good {
            #expect(try await relay.post(body, headers: headers).status == 200)
        }
        let bad = [
            [("Content-Type", "text/plain")], [("Content-Type", "application/jsonx")],
            [("Content-Type", "application/json"), ("Content-Encoding", "gzip")],
        ]
        for headers in bad {
            let reply = try await relay.post(body, headers: headers)
            #expect(reply.status == 415)
            #expect(reply.reason == "UnsupportedMediaType")
        }
        try await relay.stop()
    }

    @Test("8192 bytes pass, 8193 do not")
    func size() async throws {
        let relay = try await RelayFixture()
        let body = SendRequestTests.body()
        let padded = String(repeating: " ", count: 8192 - body.utf8.count) + body
        #expect(try await relay.post(padded).status == 200)
        let over = try await relay.post(" " + padded)
        #expect(over.status == 413)
        #expect(over.reason == "RequestTooLarge")
        #expect(over.text.contains(#""outcome":"permanent""#))
        let chunked = try await relay.post(
            Array((" " + padded).utf8),
            headers: [("Content-Type", "application/json"), ("Transfer-Encoding", "chunked")]
        )
        #expect(chunked.status == 413)
        try await relay.stop()
    }

    @Test("A body that breaks the contract is 400, one that has expired is not sent")
    func content() async throws {
        let relay = try await RelayFixture(["APNS_ENVIRONMENTS": "sandbox"])
        let invalid = try await relay.post(#"{}"#)
        #expect(invalid.status == 400)
        #expect(
            invalid.text
                == #"{"outcome":"permanent","reason":"InvalidRequest","device_invalid":false}"#
        )
        let disabled = try await relay.post(
            SendRequestTests.body(["environment": "\"production\""])
        )
        #expect(disabled.status == 400)
        #expect(disabled.reason == "EnvironmentDisabled")
        let expired = try await relay.post(SendRequestTests.body(["expires_at": "2000000000"]))
        #expect(expired.status == 200)
        #expect(expired.text.contains(#""outcome":"expired""#))
        #expect(relay.apns.seen.value.isEmpty)
        try await relay.stop()
    }

    @Test("Target, source and instance have limits of their own, in that order of cost")
    func limits() async throws {
        let relay = try await RelayFixture([
            "LIMIT_TARGET": "2", "LIMIT_SOURCE": "6", "LIMIT_INSTANCE": "100",
        ])
        func send(_ token: String) async throws -> HTTPClientResponse {
            try await relay.post(SendRequestTests.body(["device_token": "\"\(token)\""]))
        }
        #expect(try await send("aa").status == 200)
        #expect(try await send("aa").status == 200)
        let limited = try await send("aa")
        #expect(limited.status == 429)
        #expect(limited.reason == "RateLimited")
        #expect(limited.header("Retry-After") == "60")
        #expect(try await send("bb").status == 200)
        // An invalid request costs its source a place, but no target.
        #expect(try await relay.post("{}").status == 400)
        #expect(try await send("cc").status == 200)
        #expect(try await send("dd").status == 429)
        relay.time.advance(by: .seconds(60))
        #expect(try await send("aa").status == 200)
        try await relay.stop()
    }

    @Test("Beyond the concurrent requests the answer is busy, and places come back")
    func concurrency() async throws {
        let relay = try await RelayFixture(["LIMIT_CONCURRENT": "1"]) { _, _ in }
        async let first = relay.post(SendRequestTests.body())
        await relay.apns.seen.wait { $0.count == 1 }
        let busy = try await relay.post(SendRequestTests.body())
        #expect(busy.status == 503)
        #expect(busy.reason == "RelayBusy")
        #expect(busy.header("Retry-After") == "1")
        let seen = try #require(relay.apns.seen.value.first)
        await relay.onAPNs { server in
            for connection in server.openConnections {
                connection.respond(seen.stream, HTTP2ServerResponse(status: 200))
            }
        }
        #expect(try await first.status == 200)
        relay.apns.change(ScriptedAPNs.accepting)
        #expect(try await relay.post(SendRequestTests.body()).status == 200)
        try await relay.stop()
    }

    @Test(
        "Without credentials: 503, one line in the log, a reason in readiness",
        arguments: [false, true]
    )
    func notConfigured(hasBrokenKey: Bool) async throws {
        let variables =
            hasBrokenKey
            ? [
                "APNS_TEAM_ID": "TEAM123456", "APNS_KEY_ID": "KEY1234567",
                "APNS_KEY_FILE": "/dev/null",
            ]
            : [:]
        let relay = try await RelayFixture(variables, hasCredentials: false)
        let reply = try await relay.post("{}")
        #expect(reply.status == 503)
        #expect(
            reply.text
                == #"{"outcome":"retryable","reason":"RelayNotConfigured","device_invalid":false}"#
        )
        #expect(reply.header("Retry-After") == "60")
        #expect(relay.log.lines(of: "apns credentials are missing or unusable").count == 1)
        #expect(!relay.context.readiness.isReady)
        try await relay.stop()
    }

    @Test("What the server refuses by itself has the words of the contract")
    func refusals() throws {
        let context = ProcessContext(name: "relay", log: .silent)
        let endpoint = SendEndpoint(
            relay: Relay(notConfigured: "test", profile: .reference, context: context),
            limits: SendLimits(SendLimits.Settings()),
            time: context.time,
            metrics: context.metrics
        )
        let head = HTTPRequestHead(method: "POST", path: "/v1/send")
        let rows: [(HTTPRefusal, Int, String)] = [
            (.malformed, 400, "InvalidRequest"), (.bodyTooLarge, 413, "RequestTooLarge"),
            (.uploadTimeout, 408, "RequestTimeout"), (.busy, 503, "RelayBusy"),
            (.stopping, 503, "RelayBusy"),
            (.deadline, 200, "NetworkUnavailable"),
        ]
        for (refusal, status, reason) in rows {
            let response = endpoint.refusal(refusal, head)
            #expect(response.status == status)
            #expect(try StrictJSON(parsing: response.body)["reason"]?.text == reason)
        }
    }
}
