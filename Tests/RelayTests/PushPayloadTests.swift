import Contracts
import PushBusCrypto
import RelayCore
import Testing

@Suite("What goes to APNs")
struct PushPayloadTests {
    private func envelope(ciphertextBytes: Int) throws -> Envelope {
        Envelope(
            keyID: try #require(KeyID("22222222-2222-4222-8222-222222222222")),
            identity: String(repeating: "a", count: 64),
            nonce: Blob(Array(0..<12)),
            ciphertext: Blob([UInt8](repeating: 0, count: ciphertextBytes))
        )
    }

    @Test("The payload of the reference profile, byte for byte")
    func reference() throws {
        let bytes = try #require(
            PushPayload(.reference).bytes(for: envelope(ciphertextBytes: 16))
        )
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == #"{"aps":{"alert":{"title":"ServerBee","body":"Open ServerBee to view this "#
                + #"notification."},"mutable-content":1,"sound":"default"},"serverbee_envelope":"#
                + #"{"version":1,"key_id":"22222222-2222-4222-8222-222222222222","identity":""#
                + String(repeating: "a", count: 64)
                + #"","nonce":"AAECAwQFBgcICQoL","ciphertext":"AAAAAAAAAAAAAAAAAAAAAA=="}}"#
        )
    }

    @Test("Sizes of the payload")
    func sizes() throws {
        let payload = PushPayload(.reference)
        #expect(payload.bytes(for: try envelope(ciphertextBytes: 2064))?.count == 3084)
        #expect(payload.bytes(for: try envelope(ciphertextBytes: 2070))?.count == 3092)
    }

    @Test("The largest profile still fits, hostile text is escaped")
    func largestProfile() throws {
        let profile = try AppProfile(
            label: "x",
            payloadKey: String(repeating: "k", count: 64),
            fallbackTitle: String(repeating: "\"", count: 200),
            fallbackBody: String(repeating: "\\", count: 200)
        )
        let bytes = try #require(
            PushPayload(profile).bytes(for: envelope(ciphertextBytes: 2070))
        )
        #expect(bytes.count <= 4096)
        #expect(
            try StrictJSON(parsing: bytes)["aps"]?["alert"]?["title"]?.text == profile.fallbackTitle
        )
    }

    @Test("Beyond 4096 bytes there is no payload")
    func tooLarge() throws {
        #expect(PushPayload(.reference).bytes(for: try envelope(ciphertextBytes: 2900)) == nil)
    }

    @Test("apns-id is stable for event and device and differs between devices and events")
    func identity() throws {
        func id(_ event: String, _ token: String) throws -> String {
            PushIdentity.apnsID(
                eventID: try #require(EventID(event)),
                deviceToken: try #require(DeviceToken(token)),
                sha256: { SHA256.hash($0) }
            )
        }
        let event = "11111111-1111-4111-8111-111111111111"
        let one = try id(event, "aa")
        #expect(EventID(one) != nil)
        #expect(try id(event, "aa") == one)
        #expect(try id(event, "bb") != one)
        #expect(try id("11111111-1111-4111-8111-111111111112", "aa") != one)
    }
}
