import Contracts
import FoundationEssentials
import ServiceKit
import TestKit
import Testing

@Suite
struct LogTests {
    private struct Line: Codable, Equatable {
        var time: String
        var level: String
        var event: String
        var text: String?
        var number: Double?
        var list: [String]?
    }

    private func decode(_ line: String) throws -> Line {
        #expect(line.hasSuffix("\n"))
        #expect(line.utf8.filter { $0 == 10 }.count == 1)
        return try JSONDecoder().decode(Line.self, from: Data(line.utf8))
    }

    @Test("Every character comes back from the line, and no line holds a raw control character")
    func characters() throws {
        let collector = LogCollector()
        let log = collector.log()
        var texts = (0...0x9F).compactMap { Unicode.Scalar($0 as UInt32).map { "a\($0)b" } }
        texts += ["\"", "\\", "\u{2028}\u{2029}", "世界 🌍", "e\u{301}", "\u{FEFF}", "\u{10FFFF}", ""]
        texts.append(
            String(decoding: [0xFF, 0x61, 0xC0, 0xAF, 0xED, 0xA0, 0x80] as [UInt8], as: UTF8.self)
        )
        for text in texts {
            log.info("e", ["text": .string(text), "list": .strings([text, text])])
        }
        for (line, text) in zip(collector.lines, texts) {
            let decoded = try decode(line)
            #expect(decoded.text == text)
            #expect(decoded.list == [text, text])
            #expect(line.dropLast().unicodeScalars.allSatisfy { $0.value >= 32 && $0.value != 127 })
        }
        #expect(collector.lines.count == texts.count)
    }

    @Test("Numbers without a JSON form become null and long text is cut at a character")
    func limits() throws {
        let collector = LogCollector()
        let log = collector.log()
        log.info("e", ["number": .double(.infinity)])
        log.info("e", ["number": .double(.nan)])
        log.info("e", ["text": .string(String(repeating: "界", count: 5_000))])
        #expect(try decode(collector.lines[0]).number == nil)
        #expect(try decode(collector.lines[1]).number == nil)
        let text = try #require(try decode(collector.lines[2]).text)
        #expect(text.utf8.count <= 2_051 && text.hasSuffix("界…"))
    }

    @Test("Levels below the threshold are not written, fields are merged, time is the given clock")
    func levels() throws {
        let collector = LogCollector()
        let time = ManualTime(wall: UnixMilliseconds(1_709_210_096_007))
        let log = collector.log(level: .warning, time: time).with(["text": "base"])
        log.debug("no")
        log.info("no")
        log.warning("yes", ["text": "own", "event": "not this"])
        log.error("also")
        #expect(collector.lines.count == 2)
        let line = try decode(collector.lines[0])
        let expected = Line(
            time: "2024-02-29T12:34:56.007Z",
            level: "warning",
            event: "yes",
            text: "own"
        )
        #expect(line == expected)
        #expect(try decode(collector.lines[1]).text == "base")
    }

    @Test(
        "Instants are written as RFC 3339",
        arguments: [
            (Int64(0), "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (4_102_444_799_999, "2099-12-31T23:59:59.999Z"),
        ]
    )
    func instants(milliseconds: Int64, text: String) {
        #expect(UnixMilliseconds(milliseconds).rfc3339 == text)
    }
}
