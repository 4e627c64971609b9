import Contracts
import Testing

@Suite("App profile")
struct AppProfileTests {
    static let referenceText = """
        {"label":"ServerBee","payload_key":"serverbee_envelope","fallback":
        {"title":"ServerBee","body":"Open ServerBee to view this notification."}}
        """

    @Test("The reference profile is what its file says")
    func referenceFile() throws {
        #expect(try AppProfile(parsing: Array(Self.referenceText.utf8)) == .reference)
    }

    @Test(
        "A profile that is wrong names the member",
        arguments: [
            ("[]", ""), ("{}", ""), ("{", ""),
            (referenceText.replacing("serverbee_envelope", with: "aps"), "/payload_key"),
            (referenceText.replacing("serverbee_envelope", with: "a b"), "/payload_key"),
            (referenceText.replacing("\"label\":\"ServerBee\"", with: "\"label\":1"), "/label"),
            (
                referenceText.replacing("\"title\":\"ServerBee\"", with: "\"title\":\"\""),
                "/fallback/title"
            ),
            (referenceText.replacing("\"body\"", with: "\"text\""), "/fallback"),
            (
                referenceText.replacing("Open ", with: String(repeating: "x", count: 200)),
                "/fallback/body"
            ),
        ]
    )
    func violations(text: String, pointer: String) {
        let violation = #expect(throws: ContractViolation.self) {
            try AppProfile(parsing: Array(text.utf8))
        }
        #expect(violation?.pointer == pointer)
    }
}
