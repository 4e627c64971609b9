import Contracts
import PushBusCrypto
import Testing

@Suite("Title parts are cut where a reader sees no damage")
struct TitleCutTests {
    private func alert(
        rule: String,
        server: String,
        key: String = "v1.a"
    ) throws -> EnvelopePlaintext {
        try Vector.plaintext(
            .alert(
                AlertContent(alertKey: key, status: .firing, ruleName: rule, serverName: server)
            )
        )
    }

    private func titles(_ plaintext: EnvelopePlaintext) throws -> (rule: String, server: String) {
        let bytes = try plaintext.encoded()
        #expect(bytes.count <= 2048)
        guard case .alert(let alert) = try EnvelopePlaintext(decoding: bytes).content else {
            Issue.record("not an alert")
            return ("", "")
        }
        return (alert.ruleName, alert.serverName)
    }

    @Test("120 scalars stay, the 121st goes")
    func scalars() throws {
        let exact = String(repeating: "x", count: 120)
        let cut = try titles(alert(rule: exact, server: exact + "y"))
        #expect(cut.rule == exact)
        #expect(cut.server == exact)
    }

    @Test("An emoji of seven scalars is never split")
    func emoji() throws {
        let family = "👩‍👩‍👧‍👦"
        let cut = try titles(alert(rule: String(repeating: family, count: 30), server: "s"))
        #expect(cut.rule == String(repeating: family, count: 17))
        #expect(cut.server == "s")
    }

    @Test("A combining mark stays with its letter")
    func combining() throws {
        let cut = try titles(
            alert(rule: String(repeating: "x", count: 119) + "e\u{301}", server: "")
        )
        #expect(cut.rule == String(repeating: "x", count: 119))
    }

    @Test(
        "Names in any script are cut between characters",
        arguments: [
            "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪", "e\u{301}\u{323}", "\u{0915}\u{094D}\u{0937}\u{093F}",
            "\u{202B}\u{05E9}\u{05B8}\u{05C1}\u{202C}", "\u{0644}\u{0651}\u{064E}", "\u{0}",
            "a\u{0}\u{301}",
            "\"\\\n", "\r\n", "\u{2028}", "각",
        ]
    ) func anyScript(unit: String) throws {
        for count in [1, 7, 29, 30, 31, 59, 60, 61, 119, 120, 121, 400, 3000] {
            for key in ["v1.a", "v1." + String(repeating: "A", count: 637)] {
                let name = String(repeating: unit, count: count)
                let cut = try titles(alert(rule: name, server: "x" + name, key: key))
                for (part, whole) in [(cut.rule, name), (cut.server, "x" + name)] {
                    #expect(part.unicodeScalars.count <= TitleCut.scalarLimit)
                    #expect(!part.isEmpty)
                    #expect(part.elementsEqual(whole.prefix(part.count)), "cut inside a character")
                }
            }
        }
    }

    @Test("One character longer than the limit is cut by scalars rather than lost")
    func monster() throws {
        let monster = "e" + String(repeating: "\u{301}", count: 200)
        let cut = try titles(alert(rule: monster, server: "s"))
        #expect(cut.rule.unicodeScalars.count == 120)
    }

    @Test("When 2048 bytes are exceeded the longer title gives way first")
    func total() throws {
        let key = "v1." + String(repeating: "A", count: 1400)
        let long = String(repeating: "😀", count: 120)
        let cut = try titles(alert(rule: long, server: "short", key: key))
        #expect(cut.server == "short")
        #expect(!cut.rule.isEmpty && cut.rule.count < 120)
        #expect(cut.rule.allSatisfy { $0 == "😀" })
        let both = try titles(alert(rule: long, server: long, key: key))
        #expect(abs(both.rule.count - both.server.count) <= 1)
        let controls = String(repeating: "\u{1}", count: 120)
        let escaped = try titles(alert(rule: controls, server: controls, key: key))
        #expect(!escaped.rule.isEmpty && !escaped.server.isEmpty)
    }

    @Test("A plaintext that no cut can save is a typed error")
    func hopeless() throws {
        let key = String(repeating: "A", count: 2048)
        let error = #expect(throws: EnvelopeError.self) {
            try alert(rule: "r", server: "s", key: key).encoded()
        }
        #expect(error?.name == "plaintext_too_large")
        let security = try Vector.plaintext(
            .security(
                SecurityContent(serverID: key, securityEventID: "", securityEventType: "")
            )
        )
        #expect(throws: EnvelopeError.self) { try security.encoded() }
    }

    @Test("Exactly 2048 bytes pass")
    func exact() throws {
        let empty = try alert(rule: "", server: "", key: "").encoded().count
        let key = String(repeating: "A", count: 2048 - empty)
        #expect(try alert(rule: "", server: "", key: key).encoded().count == 2048)
        #expect(try alert(rule: "r", server: "s", key: key).encoded().count == 2048)
        #expect(throws: EnvelopeError.self) {
            try alert(rule: "", server: "", key: key + "A").encoded()
        }
    }
}
