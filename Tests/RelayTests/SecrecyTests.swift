import Bus
import Contracts
import HTTP2
import HTTPClient
import PushBusCrypto
import RelayCore
import ServiceKit
import TestKit
import Testing

@Suite("What the Relay says about itself", .timeLimit(.minutes(1)))
struct SecrecyTests {
    /// Every kind of answer once, by the last digit of the token.
    private static let script: ScriptedAPNs.Script = { push, connection in
        switch push.path.last {
        case "1": connection.refuse(push, 410, "Unregistered", timestamp: 1_700_000_000_000)
        case "2": connection.refuse(push, 400, "BadDeviceToken")
        case "3": connection.refuse(push, 429, "TooManyRequests")
        case "4": connection.reset(push.stream, .internalError)
        case "5": connection.refuse(push, 500, "InternalServerError")
        case "6": connection.refuse(push, 400, "abcdef0123456789abcdef0123456789")
        case "7":
            // A peer that repeats what it was sent.
            let body = Array(#"{"reason":"\#(push.path.dropFirst(10))"}"#.utf8) + push.body
            connection.respond(push.stream, HTTP2ServerResponse(status: 400, body: body))
        case "8":
            connection.goAway(debugData: push.body)
            connection.respond(push.stream, HTTP2ServerResponse(status: 200))
        case "9":
            let word = #"{"reason":"\#(push.path.dropFirst(10))"}"#
            connection.goAway(debugData: Array(word.utf8))
            connection.respond(push.stream, HTTP2ServerResponse(status: 200))
        default: connection.respond(push.stream, HTTP2ServerResponse(status: 200))
        }
    }

    @Test("No log line, at any level, and no metric holds a token, an envelope or a key")
    func nothingSecret() async throws {
        let relay = try await RelayFixture(script: Self.script)
        var tokens: [String] = []
        for digit in 0..<10 {
            let token = "abcdef0123456789abcdef012345678\(digit)"
            tokens.append(token)
            _ = try await relay.post(SendRequestTests.body(["device_token": "\"\(token)\""]))
        }
        // Faults of the request itself, and the same over the bus.
        for broken in [
            SendRequestTests.body(["event_id": "\"abcdef01\""]),
            SendRequestTests.body(envelope: ["ciphertext": "\"abcdef0123456789\""]),
            SendRequestTests.body() + "trailing abcdef01", "abcdef01",
        ] {
            _ = try await relay.post(broken)
        }
        let client = try relay.busClient()
        var messages = try (0..<10).map { try relay.message(0xabcd_ef00 + $0) }
        messages.append(try relay.message(0xabcd_ef0a, expiresAt: 2_100_000_000))
        let answered = Observed(0)
        try await client.stream(RelaySend(messages: messages), timeout: .seconds(20)) { answer in
            answered.update { $0 += answer.verdicts.count }
            return !answer.last
        }
        #expect(answered.value == 11)
        client.stop()
        let provider = Set(relay.apns.seen.value.map { String($0.token.dropFirst(7)) })
        let nonce = Base64.encode([UInt8](0..<12))
        let ciphertexts = [Base64.encode([UInt8](repeating: 7, count: 100)), nonce]
        let pem = try relay.files.key.pem().withBytes { String(decoding: $0, as: UTF8.self) }
        try await relay.stop()
        let said = relay.log.lines.joined() + relay.context.metrics.render()
        #expect(said.contains("apns connection ready"))
        #expect(said.contains("message breaks the contract"))
        let lines = pem.split(separator: "\n")
        let secrets =
            tokens + ["abcdef0"] + provider + ciphertexts + lines.map(String.init)
            + [String(repeating: "a", count: 64), #"{"aps""#, "Bearer ey", "bearer ey"]
        for secret in secrets { #expect(!said.contains(secret), "\(secret)") }
    }
}
