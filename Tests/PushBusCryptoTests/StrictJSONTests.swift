import Contracts
import Testing

@Suite("Strict JSON")
struct StrictJSONTests {
    @Test("What RFC 8259 allows is read")
    func accepted() throws {
        let text = #"""
             {"a":[1,-0,2.5e+3,null,true,false,{}],"b":"x\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00é","":""}
            """#
        let json = try StrictJSON(parsing: Array(text.utf8))
        #expect(json["b"]?.text == "x\"\\/\u{8}\u{c}\n\r\té😀é")
        #expect(json[""]?.text == "")
        let numbers: [StrictJSON] = [.number("1"), .number("-0"), .number("2.5e+3")]
        #expect(
            json["a"]
                == .array(numbers + [.null, .bool(true), .bool(false), .object([:])])
        )
        #expect(try StrictJSON(parsing: Array(" 7 ".utf8)).safeInteger == 7)
    }

    @Test(
        "What it does not allow, and duplicate keys, are refused",
        arguments: [
            "", " ", "{", "}", "[1,]", "[,1]", "{\"a\":1,}", "{\"a\"}", "{\"a\":}", "{a:1}",
            "{'a':1}",
            "{\"a\":1 \"b\":2}", "[1 2]", "01", "-", "+1", "1.", ".5", "1e", "1e+", "0x1", "NaN",
            "Infinity", "nul", "nullx", "tru", "\"", "\"\\\"", "\"\\x\"", "\"\\u12\"",
            "\"\\u12g4\"",
            "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"a\nb\"", "\"\u{0}\"", "1 2",
            "{}{}",
            "{\"a\":1,\"a\":2}", "{\"a\":1,\"\\u0061\":2}", "/*c*/1", "\u{feff}1", "[[[[[1]]]]]",
        ]
    )
    func refused(text: String) {
        #expect(throws: StrictJSON.Failure.self) {
            try StrictJSON(parsing: Array(text.utf8), depth: 4)
        }
    }

    @Test(
        "Bytes that are not UTF-8 are refused",
        arguments: [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80]]
    )
    func notUTF8(bytes: [UInt8]) {
        let quoted = [UInt8(ascii: "\"")] + bytes + [UInt8(ascii: "\"")]
        #expect(throws: StrictJSON.Failure.self) { try StrictJSON(parsing: quoted) }
    }

    @Test("Depth is bounded before the stack is")
    func depth() {
        let deep = [UInt8](repeating: UInt8(ascii: "["), count: 1_000_000)
        #expect(throws: StrictJSON.Failure.self) { try StrictJSON(parsing: deep) }
    }

    @Test("Integers are safe or nil")
    func integers() throws {
        func integer(_ text: String) throws -> Int64? {
            try StrictJSON(parsing: Array(text.utf8)).safeInteger
        }
        #expect(try integer("9007199254740991") == 9_007_199_254_740_991)
        #expect(try integer("9007199254740992") == nil)
        #expect(try integer("-9007199254740991") == -9_007_199_254_740_991)
        #expect(try integer("99999999999999999999") == nil)
        #expect(try integer("1.0") == nil)
        #expect(try integer("1e3") == nil)
        #expect(try integer("\"1\"") == nil)
    }
}
