import PushBusDevice
import Testing

@Suite struct ServerAddressTests {
    @Test(arguments: [
        "https://push.example.test", "https://push.example.test:8443", "https://[2001:db8::1]:443",
        "https://push.example.test/base", "http://127.0.0.1:8080",
    ]) func accepted(text: String) throws {
        #expect(try ServerAddress(text).text == text)
        #expect(try ServerAddress(text + "/").text == text)
    }

    @Test(arguments: [
        "", "push.example.test", "http://push.example.test", "http://127.0.0.1",
        "http://127.0.0.1:", "http://127.0.0.1:0", "http://127.0.0.1:70000", "http://localhost:80",
        "http://127.0.0.1.example.test:80", "http://127.0.0.1:80@evil.example.test",
        "https://", "https://:443", "https://user@push.example.test", "https://a?b", "https://a#b",
        "https://a b", "ftp://push.example.test", "https://a:+80", "HTTPS://push.example.test",
        "https://a\nb", "https://[::1]x",
    ]) func refused(text: String) {
        let error = #expect(throws: DeviceError.self) { try ServerAddress(text) }
        #expect(error?.code == .address)
    }

    @Test func aLongAddressIsRefused() {
        let text = "https://" + String(repeating: "a", count: 505)
        #expect(throws: DeviceError.self) { try ServerAddress(text) }
    }
}
