import Contracts
import RegistrationCore
import Testing

@Suite
struct RequestParsingTests {
    private static let registration = """
        {"expected_revision":1,"device_token":"aa11","environment":"sandbox",\
        "content_key_id":"22222222-2222-4222-8222-222222222222",\
        "content_key":"\(Base64.encode([UInt8](repeating: 7, count: 32)))",\
        "deployment_id":"https://push.example.org"}
        """

    @Test func readsARegistration() throws {
        let request = try EncryptedRegistration(parsing: Array(Self.registration.utf8))
        #expect(request.expectedRevision == 1)
        #expect(request.deviceToken.hex == "aa11")
        #expect(request.environment == .sandbox)
        #expect(!"\(request)".contains("aa11"))
    }

    @Test(arguments: [
        ("\"aa11\"", "\"AA11\""), ("\"aa11\"", "\"aa1\""), ("\"aa11\"", "12"),
        ("sandbox", "Sandbox"), ("sandbox", "development"),
        ("22222222-2222-4222-8222-222222222222", "22222222-2222-4222-8222-22222222222A"),
        ("22222222-2222-4222-8222-222222222222", "2222222222224222822222222222222"),
        ("BwcH", "BwcH\\n"), ("=\"", "\""), ("BwcH", "_wcH"),
        ("https://", "http://"), ("https://", "ftp://"),
        (":1,", ":-1,"), (":1,", ":1.0,"), (":1,", ":1e0,"), (":1,", ":\"1\","),
        (":1,", ":9007199254740993,"),
        ("{", "{\"extra\":1,"), ("{\"expected_revision\":1,", "{"),
        ("{", "{\"environment\":\"sandbox\","), ("}", "}x"), ("}", ""),
    ])
    func refusesWhatBreaksTheContract(old: String, new: String) throws {
        let text = replacing(old, by: new, in: Self.registration)
        #expect(text != Self.registration)
        let problem = #expect(throws: RequestProblem.self) {
            try EncryptedRegistration(parsing: Array(text.utf8))
        }
        #expect(problem?.status == 400)
        #expect(problem?.message.contains("BwcH") == false)
    }

    @Test func refusesWhatIsNoObject() {
        for text in ["", "[]", "null", "1", "\u{FEFF}{}", "{\"refresh_token\":\"\"}"] {
            #expect(throws: RequestProblem.self) {
                try RefreshRequest(parsing: Array(text.utf8))
            }
        }
        #expect(throws: RequestProblem.self) { try RefreshRequest(parsing: [0x22, 0xFF, 0x22]) }
    }

    @Test(arguments: [
        "", "a b", "ä", String(repeating: "a", count: 129), "a/b", "a\\u0000",
    ])
    func refusesAnInstallationID(id: String) {
        let text = "{\"code\":\"c\",\"installation_id\":\"\(id)\",\"device_name\":\"n\"}"
        #expect(throws: RequestProblem.self) { try PairRequest(parsing: Array(text.utf8)) }
    }

    @Test(arguments: [
        "https://push.example.org", "https://push.example.org:8443/base", "https://[::1]:8443",
        "http://127.0.0.1:8080", "https://localhost", "https://10.0.0.1/",
        "http://127.0.0.1:49152", "https://a.b-c.example:65535",
    ])
    func acceptsADeploymentURL(url: String) {
        #expect(DeploymentURL.isAcceptable(url))
    }

    @Test(arguments: [
        "", "push.example.org", "http://push.example.org", "http://127.0.0.1",
        "http://127.0.0.1:", "http://127.0.0.1:0", "http://127.0.0.1:99999",
        "http://127.0.0.2:80", "http://localhost:80", "https://", "https://:443",
        "https://user@host", "https://host?x", "https://host#x", "https://ho st",
        "HTTPS://host", "https://-host", "https://host..org",
        "https://" + String(repeating: "a", count: 512), "http://127.0.0.1.evil.org:80",
        "http://127.0.0.1:80@evil.org", "https://host\\evil",
    ])
    func refusesADeploymentURL(url: String) {
        #expect(!DeploymentURL.isAcceptable(url))
    }

    private func replacing(_ old: String, by new: String, in text: String) -> String {
        guard let range = text.firstRange(of: old) else { return text }
        return text.replacingCharacters(range, new)
    }
}

extension String {
    fileprivate func replacingCharacters(_ range: Range<String.Index>, _ new: String) -> String {
        String(self[..<range.lowerBound]) + new + String(self[range.upperBound...])
    }
}
