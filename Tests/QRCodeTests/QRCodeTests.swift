import QRCode
import Testing

@Suite struct QRCodeTests {
    @Test func hasItsFinderPatterns() throws {
        let code = try #require(QRCode("pushbus://pair?server=https%3A%2F%2Fexample.org&code=abc"))
        #expect(code.width >= 21)
        #expect((code.width - 17) % 4 == 0)
        for (top, left) in [(0, 0), (0, code.width - 7), (code.width - 7, 0)] {
            for row in 0..<7 {
                for column in 0..<7 {
                    let ring = max(abs(row - 3), abs(column - 3))
                    #expect(code.isDark(top + row, left + column) == (ring != 2))
                }
            }
        }
        #expect(!code.isDark(-1, 0))
        #expect(!code.isDark(0, code.width))
    }

    @Test func drawsEveryModuleInHalfBlocks() throws {
        let code = try #require(QRCode("HELLO"))
        let lines = code.text(colored: false).split(separator: "\n")
        #expect(lines.count == (code.width + 9) / 2)
        #expect(lines.allSatisfy { $0.count == code.width + 8 })
        #expect(lines[0].allSatisfy { $0 == "█" })
        #expect(code.text(colored: true).contains("\u{1B}[0m"))
    }

    @Test func refusesWhatDoesNotFit() {
        #expect(QRCode("") == nil)
        #expect(QRCode(String(repeating: "x", count: 4000)) == nil)
    }
}
