import Contracts
import PushBusCrypto
import Testing

@Suite("Hex, base64 and compact JSON")
struct EncodingTests {
    @Test("Base64 vectors of RFC 4648")
    func base64() {
        let vectors = [
            "": "", "f": "Zg==", "fo": "Zm8=", "foo": "Zm9v", "foob": "Zm9vYg==",
            "fooba": "Zm9vYmE=", "foobar": "Zm9vYmFy",
        ]
        for (plain, text) in vectors {
            #expect(Base64.encode(plain.utf8) == text)
            #expect(Base64.decode(text) == Array(plain.utf8))
            let url = text.replacing("=", with: "")
            #expect(Base64.encodeURL(plain.utf8) == url)
            #expect(Base64.decodeURL(url) == Array(plain.utf8))
        }
        #expect(Base64.encode([0xfb, 0xff]) == "+/8=")
        #expect(Base64.encodeURL([0xfb, 0xff]) == "-_8")
    }

    @Test(
        "Base64 that is not canonical is refused",
        arguments: [
            "Zg", "Zg=", "Zh==", "Zm9=", "Z", "====", "Zg===", "Zg==Zg==", " Zg==", "Zg==\n",
            "-_8=",
            "Zm9v=", "Z===", "é===",
        ]
    )
    func notCanonical(text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test("Hex in both cases, nothing else")
    func hex() {
        #expect(Hex.decode("00fFAb") == [0, 255, 0xab])
        #expect(Hex.encode([0, 255, 0xab]) == "00ffab")
        #expect(Hex.decode("0") == nil)
        #expect(Hex.decode("0g") == nil)
        #expect(Hex.decode("").map(\.count) == 0)
    }

    @Test("JSON strings escape what must be escaped and nothing else")
    func jsonEscapes() {
        var json = CompactJSON()
        json.array {
            $0.value("a/b\"c\\d\u{8}\u{9}\u{a}\u{c}\u{d}\u{0}\u{1f}\u{7f}é\u{2028}😀")
            $0.value(-5)
            $0.value(true)
            $0.object { _ in }
        }
        #expect(
            json.text
                == #"["a/b\"c\\d\b\t\n\f\r\u0000\u001f"# + "\u{7f}é\u{2028}😀" + #"",-5,true,{}]"#
        )
    }
}
