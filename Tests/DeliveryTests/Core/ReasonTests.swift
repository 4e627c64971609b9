import DeliveryCore
import Testing

@Suite struct ReasonTests {
    @Test(arguments: ["Accepted", "BadEnvironmentKeyIdInToken", "Status418", "X-Other_1"])
    func aWordIsKept(word: String) {
        #expect(Reason.relayed(word) == word)
    }

    @Test(arguments: [
        "", "accepted", String(repeating: "ab", count: 32), "A sentence", "Ünder", "A\n",
        String(repeating: "A", count: 65), "eyJhbGciOi.J9",
    ])
    func whatMayHoldASecretIsNot(word: String) {
        #expect(Reason.relayed(word) == Reason.unnamed)
    }

    @Test(arguments: ["bad_content_key", "plaintext_too_large", "Failed"])
    func aWordOfAFanoutIsKept(word: String) {
        #expect(Reason.sealing(word) == word)
    }

    @Test(arguments: [
        "", "a sentence", String(repeating: "a1", count: 32), String(repeating: "a", count: 65),
        "ünder", "a\n", "pw:secret",
    ])
    func whatIsNoWordOfAFanoutIsNot(word: String) {
        #expect(Reason.sealing(word) == Reason.unnamed)
    }
}
