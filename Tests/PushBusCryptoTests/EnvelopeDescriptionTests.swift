import Contracts
import PushBusCrypto
import Testing

@Suite("The JSON description that pushbus envelope reads")
struct EnvelopeDescriptionTests {
    static let key = (0..<32).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    static let content = """
        {"kind":"test","deployment_id":"https://serverbee.test","user_id":"alice",
        "installation_id":"test-install","event_id":"11111111-1111-4111-8111-111111111111",
        "created_at":2000000000,"expires_at":2000001800}
        """
    static let seal = """
        {"key":"\(key)","nonce":"202122232425262728292a2b",
        "key_id":"22222222-2222-4222-8222-222222222222","content":\(content)}
        """

    @Test("Sealing prints the envelope of the vector, opening its plaintext")
    func roundTrip() throws {
        let envelope = try EnvelopeDescription(parsing: Array(Self.seal.utf8)).sealed()
        #expect(envelope == (try Vector.envelope().json))
        let text = String(decoding: envelope, as: UTF8.self)
        for extra in [
            "", #","key_id":"22222222-2222-4222-8222-222222222222""#,
            #","content":\#(Self.content)"#,
        ] {
            let open = #"{"key":"\#(Self.key)","envelope":\#(text)\#(extra)}"#
            let opened = try EnvelopeDescription(parsing: Array(open.utf8)).opened()
            #expect(opened == (try Vector.plaintext().encoded()))
        }
    }

    @Test("Opening for somebody else or with another key id fails")
    func mismatch() throws {
        let text = String(decoding: try Vector.envelope().json, as: UTF8.self)
        let other = Self.content.replacing("alice", with: "bob")
        let forBob = #"{"key":"\#(Self.key)","envelope":\#(text),"content":\#(other)}"#
        #expect(throws: EnvelopeError.identityMismatch) {
            try EnvelopeDescription(parsing: Array(forBob.utf8)).opened()
        }
        let otherKey =
            #"{"key":"\#(Self.key)","envelope":\#(text),"#
            + #""key_id":"33333333-3333-4333-8333-333333333333"}"#
        #expect(throws: EnvelopeError.otherKey) {
            try EnvelopeDescription(parsing: Array(otherKey.utf8)).opened()
        }
    }

    @Test(
        "A description that is wrong names the member",
        arguments: [
            ("[]", ""), ("{}", "/key"), (#"{"key":"00"}"#, "/key"),
            (seal.replacing("22222222-2222", with: "2222"), "/key_id"),
            (seal.replacing("202122", with: "2021"), "/nonce"),
            (seal.replacing("\"content\"", with: "\"other\""), "/content"),
            (seal.replacing("\"user_id\"", with: "\"other\""), "/content/user_id"),
            (seal.replacing("\"kind\":\"test\"", with: "\"kind\":\"x\""), "/content/kind"),
            (seal.replacing("2000000000", with: "2e9"), "/content/created_at"),
            (seal.replacing("\"kind\":\"test\"", with: "\"kind\":\"alert\""), "/content/alert"),
            (seal.replacing("2000001800", with: "1999999999"), "/content/expires_at"),
            (
                seal.replacing("\"kind\":\"test\"", with: "\"kind\":\"test\",\"title\":\"T\""),
                "/content/title"
            ),
            (
                seal.replacing(
                    "\"kind\":\"test\"",
                    with: #""kind":"alert","alert":{"alert_key":"a","status":"firing","#
                        + #""rule_name":"r","server_name":"s","body":"b"}"#
                ),
                "/content/alert/body"
            ),
        ]
    )
    func violations(text: String, pointer: String) {
        let violation = #expect(throws: ContractViolation.self) {
            try EnvelopeDescription(parsing: Array(text.utf8)).sealed()
        }
        #expect(violation?.pointer == pointer)
    }
}
