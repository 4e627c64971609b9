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
}
