import Contracts
import FoundationEssentials
import Testing

@Suite("Values of the contracts")
struct ValueTests {
    @Test(
        "a UUID is taken in lowercase canonical form only",
        arguments: [
            "11111111-1111-4111-8111-11111111111", "11111111-1111-4111-8111-1111111111111",
            "AAAAAAAA-1111-4111-8111-111111111111", "{1111111-1111-4111-8111-11111111111}", "",
            "11111111111141118111111111111111", "1111111111-11-4111-8111-11111111111-",
        ]
    )
    func uuid(text: String) {
        #expect(EventID(text) == nil)
    }

    @Test("a UUID keeps its text")
    func uuidText() throws {
        let text = "0f0e0d0c-0b0a-4908-8706-050403020100"
        #expect(EventID(text)?.description == text)
    }

    @Test("a UUID reads and writes like Foundation's")
    func uuidLikeFoundation() {
        for _ in 0..<1000 {
            let uuid = UUID()
            let text = uuid.uuidString.lowercased()
            #expect(EventID(text)?.uuid == uuid)
            #expect(EventID(uuid).description == text)
        }
    }

    @Test("a UUID of a hash carries version 8 and the RFC 9562 variant")
    func uuidOfHash() throws {
        let id = try #require(EventID(hash: Array(repeating: 0xff, count: 32)))
        #expect(id.description == "ffffffff-ffff-8fff-bfff-ffffffffffff")
        #expect(EventID(hash: [1, 2, 3]) == nil)
    }

    @Test(
        "a device token is lowercase hex of even length up to 1024 characters",
        arguments: ["", "a", "0", "AB", "zz", "abc", String(repeating: "0", count: 1026)]
    )
    func token(text: String) {
        #expect(DeviceToken(text) == nil)
    }

    @Test("secrets have nothing to print")
    func secrets() throws {
        let key = try #require(ContentKey(Array(repeating: 0x41, count: 32)))
        let token = try #require(DeviceToken("deadbeef"))
        for text in [
            "\(key)", String(reflecting: key), "\(token)", String(reflecting: token),
            "\(Password("hunter22"))", String(reflecting: Password("hunter22")),
            String(describing: [key]), String(describing: Optional(token) as Any),
        ] {
            #expect(!text.contains("65") && !text.contains("deadbeef") && !text.contains("hunter"))
        }
        #expect(Mirror(reflecting: key).children.isEmpty)
        #expect(Mirror(reflecting: token).children.isEmpty)
    }

    @Test(
        "base64 is taken in its canonical form only",
        arguments: ["QQ", "QR==", "QQ==\n", "Q Q==", "_-8=", "QQ=", "===="]
    )
    func base64(text: String) {
        #expect(Blob(base64: text) == nil)
    }

    @Test("equal JSON values have equal canonical bytes whatever their order and spacing")
    func canonical() throws {
        let one = #"{"b":[1,2.5,null,true],"a":"x/y"}"#
        let other = #" { "a" : "x\/y", "b":[1, 2.5, null, true] } "#
        let decode = { (text: String) in
            try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
        }
        #expect(try decode(one).canonicalBytes() == decode(other).canonicalBytes())
        #expect(
            try decode(one).canonicalBytes() == Array(#"{"a":"x/y","b":[1,2.5,null,true]}"#.utf8)
        )
    }

    @Test("instants stay inside their range")
    func instants() {
        #expect(UnixSeconds(.max).adding(seconds: 1) == UnixSeconds(.max))
        #expect(UnixSeconds(.min).adding(seconds: -1) == UnixSeconds(.min))
        #expect(UnixSeconds(.max).start == UnixMilliseconds(.max))
        #expect(UnixMilliseconds(-1).second == UnixSeconds(-1))
        #expect(UnixMilliseconds(1999).second == UnixSeconds(1))
    }

    @Test("nobody changes the whole outbox by leaving something out")
    func selections() throws {
        let places = { (rows: OutboxSelection) in
            try OutboxCancel(rows).checkBounds()
        }
        try places(OutboxSelection())
        try places(OutboxSelection(eventID: Samples.event))
        var rows = OutboxSelection(installationID: Samples.installation)
        try places(rows)
        rows.all = true
        #expect(throws: ContractViolation.self) { try places(rows) }
        rows = OutboxSelection()
        rows.all = nil
        #expect(throws: ContractViolation.self) { try places(rows) }
        rows.all = false
        #expect(throws: ContractViolation.self) { try places(rows) }
    }

    @Test("bounds name the place that breaks them")
    func bounds() {
        let envelope = Envelope(
            version: 2,
            keyID: Samples.key,
            identity: String(repeating: "0", count: 64),
            nonce: Blob(Array(repeating: 0, count: 12)),
            ciphertext: Blob(Array(repeating: 0, count: 16))
        )
        let batch = DeliveryEnqueue(
            eventID: Samples.event,
            category: .alert,
            createdAt: UnixSeconds(0),
            expiresAt: UnixSeconds(1800),
            watermark: 0,
            records: [.init(installationID: InstallationID("i"), binding: 1, envelope: envelope)]
        )
        #expect(throws: ContractViolation("/records/0/envelope/version", "must be 1")) {
            try batch.checkBounds()
        }
        var many = batch
        many.records = Array(
            repeating: .init(installationID: InstallationID("i"), binding: 1, failure: "x"),
            count: 513
        )
        #expect(throws: ContractViolation("/records", "holds more than 512 records")) {
            try many.checkBounds()
        }
    }
}
