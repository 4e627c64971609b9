import Contracts
import Testing

/// The search for secrets finds them.
@Suite struct SecretFormsTests {
    private let key = (0..<32).map { UInt8(($0 * 37 + 11) & 0xff) }

    @Test func everyFormIsFoundAnywhere() {
        let secret = SecretForms("key", bytes: key)
        for lead in 0..<7 {
            let around = Array(repeating: UInt8(0x5a), count: lead)
            let bytes = around + key + [0x5a, 0x5a]
            #expect(secret.isFound(in: bytes))
            #expect(secret.isFound(in: Array(Hex.encode(bytes).utf8)))
            let base64 = Blob(bytes).base64
            #expect(secret.isFound(in: Array(base64.utf8)))
            let safe = base64.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 }
            #expect(secret.isFound(in: Array(String(safe).utf8)))
        }
    }

    @Test func nothingElseIsFound() {
        let secret = SecretForms("key", bytes: key)
        #expect(!secret.isFound(in: Array(key.dropFirst())))
        #expect(!secret.isFound(in: Array(Blob(Array(key.reversed())).base64.utf8)))
        #expect(!SecretForms("mark", text: "mark-a1b2c3").isFound(in: Array("mark-a1b2c4".utf8)))
    }
}
