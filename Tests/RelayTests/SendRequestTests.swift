import Contracts
import RelayCore
import Testing

@Suite("The body of POST /v1/send")
struct SendRequestTests {
    static let now = UnixSeconds(2_000_000_000)
    static let horizon: Int64 = 1_800

    /// A valid request with members replaced (nil removes one) and added.
    static func body(
        _ changes: [String: String?] = [:],
        envelope envelopeChanges: [String: String?] = [:]
    ) -> String {
        let envelope: [(String, String)] = [
            ("version", "1"), ("key_id", #""22222222-2222-4222-8222-222222222222""#),
            ("identity", "\"\(String(repeating: "a", count: 64))\""),
            ("nonce", "\"\(Base64.encode(Array(0..<12)))\""),
            ("ciphertext", "\"\(Base64.encode([UInt8](repeating: 7, count: 16)))\""),
        ]
        let outer: [(String, String)] = [
            ("device_token", #""abcdef01""#), ("environment", #""sandbox""#),
            ("event_id", #""11111111-1111-4111-8111-111111111111""#),
            ("expires_at", "2000001800"), ("envelope", object(envelope, envelopeChanges)),
        ]
        return object(outer, changes)
    }

    private static func object(
        _ members: [(String, String)],
        _ changes: [String: String?]
    ) -> String {
        var all: [String] = []
        for (key, value) in members {
            switch changes[key] {
            case nil: all.append("\"\(key)\":\(value)")
            case .some(nil): break
            case .some(.some(let changed)): all.append("\"\(key)\":\(changed)")
            }
        }
        let known = Set(members.map(\.0))
        for (key, value) in changes where !known.contains(key) {
            if let value { all.append("\"\(key)\":\(value)") }
        }
        return "{\(all.joined(separator: ","))}"
    }

    @Test("A valid request is read in full")
    func valid() throws {
        let message = try SendRequest.parse(
            Array(Self.body().utf8),
            now: Self.now,
            horizon: Self.horizon
        )
        #expect(message.deviceToken.hex == "abcdef01")
        #expect(message.environment == .sandbox)
        #expect(message.eventID.description == "11111111-1111-4111-8111-111111111111")
        #expect(message.expiresAt == UnixSeconds(2_000_001_800))
        #expect(message.envelope.nonce.bytes == Array(0..<12))
        #expect(!message.isYoung)
    }

    @Test("A past expiry is read: it is expired, not invalid")
    func past() throws {
        let body = Self.body(["expires_at": "1"])
        #expect(
            try SendRequest.parse(Array(body.utf8), now: Self.now, horizon: Self.horizon).expiresAt
                .seconds == 1
        )
    }

    static let longest = "\"\(Base64.encode([UInt8](repeating: 1, count: 2070)))\""

    @Test("The largest values pass", arguments: [("a1", 512), ("0f", 1)])
    func largest(pair: String, times: Int) throws {
        let body = Self.body(
            [
                "device_token": "\"\(String(repeating: pair, count: times))\"",
                "environment": #""production""#,
            ],
            envelope: ["ciphertext": Self.longest]
        )
        // The least that the limit of a body may be set to.
        #expect(body.utf8.count <= 4_098)
        _ = try SendRequest.parse(Array(body.utf8), now: Self.now, horizon: Self.horizon)
    }

    static let outerFaults: [(String, String?)] = [
        ("device_token", nil), ("device_token", "\"\""), ("device_token", "\"ABCD\""),
        ("device_token", "\"abc\""), ("device_token", "\"zz\""), ("device_token", "1"),
        ("device_token", "\"\(String(repeating: "a", count: 1026))\""),
        ("environment", nil), ("environment", "\"Sandbox\""), ("environment", "\"\""),
        ("event_id", nil), ("event_id", #""11111111-1111-4111-8111-11111111111A""#),
        ("event_id", #""111111111111411181111111111111111""#),
        ("expires_at", nil), ("expires_at", "0"), ("expires_at", "-1"),
        ("expires_at", "2000001801"), ("expires_at", "9007199254740992"),
        ("expires_at", "1.5"), ("expires_at", "\"2000001800\""), ("expires_at", "null"),
        ("envelope", nil), ("envelope", "null"), ("envelope", "[]"), ("envelope", "{}"),
        ("extra", "1"), ("", "1"),
    ]

    @Test("A fault in the outer object is invalid", arguments: outerFaults)
    func outer(key: String, value: String?) {
        let body = Self.body([key: value])
        #expect(throws: ContractViolation.self) {
            try SendRequest.parse(Array(body.utf8), now: Self.now, horizon: Self.horizon)
        }
    }

    static let envelopeFaults: [(String, String?)] = [
        ("version", nil), ("version", "2"), ("version", "\"1\""), ("version", "true"),
        ("key_id", nil), ("key_id", "\"x\""), ("identity", nil),
        ("identity", "\"\(String(repeating: "A", count: 64))\""),
        ("identity", "\"\(String(repeating: "a", count: 63))\""),
        ("nonce", nil), ("nonce", "\"AAAAAAAAAAAAAAA=\""), ("nonce", "\"AAAAAAAAAAAAAAAAAAAA\""),
        ("nonce", "\"AAAAAAAAAAAAAAA_\""), ("ciphertext", nil), ("ciphertext", "\"\""),
        ("ciphertext", "\"AAAAAAAAAAAAAAAAAAAA\""),
        ("ciphertext", "\"\(Base64.encode([UInt8](repeating: 1, count: 2071)))\""),
        ("ciphertext", "\"AAAAAAAAAAAAAAAAAAAAAB==\""), ("extra", "1"),
    ]

    @Test("A fault in the envelope is invalid", arguments: envelopeFaults)
    func envelope(key: String, value: String?) {
        let body = Self.body(envelope: [key: value])
        #expect(throws: ContractViolation.self) {
            try SendRequest.parse(Array(body.utf8), now: Self.now, horizon: Self.horizon)
        }
    }

    @Test("Text that is no single JSON object with unique keys is invalid")
    func notJSON() {
        let valid = Self.body()
        let double = valid.replacing(
            "{\"device_token\"",
            with: "{\"expires_at\":1,\"device_token\""
        )
        let deep = valid.replacing("\"sandbox\"", with: "[[[[1]]]]")
        let texts = [
            "", "[]", "null", valid + "x", valid + valid, "\u{feff}" + valid, double, deep,
        ]
        for text in texts {
            #expect(throws: ContractViolation.self) {
                try SendRequest.parse(Array(text.utf8), now: Self.now, horizon: Self.horizon)
            }
        }
        #expect(throws: ContractViolation.self) {
            try SendRequest.parse(Array(valid.utf8) + [0xff], now: Self.now, horizon: Self.horizon)
        }
    }

    @Test("A violation never repeats what was sent")
    func quiet() {
        let violation = #expect(throws: ContractViolation.self) {
            let body = Self.body(["device_token": "\"SECRETTOKEN\""])
            _ = try SendRequest.parse(Array(body.utf8), now: Self.now, horizon: Self.horizon)
        }
        #expect(violation.map { "\($0)".contains("SECRET") } == false)
    }
}
