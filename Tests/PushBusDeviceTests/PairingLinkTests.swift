import Contracts
import PushBusDevice
import Testing

@Suite struct PairingLinkTests {
    @Test(arguments: [
        "pushbus://pair?server=https%3A%2F%2Fpush.example.org%3A8443%2Fx&code=a-b_c",
        "pushbus://pair?code=a-b_c&server=https%3a%2f%2fpush.example.org%3a8443%2fx",
        "pushbus://pair?server=https://push.example.org:8443/x&code=a-b%5Fc",
    ]) func accepted(text: String) throws {
        #expect(PairingLink.isLink(text))
        let link = try PairingLink(text)
        #expect(link.server.text == "https://push.example.org:8443/x")
        #expect(link.code.text == "a-b_c")
        #expect(!"\(link)".contains("a-b_c"))
    }

    @Test(arguments: [
        "", "https://push.example.org", "pushbus://pair", "pushbus://pair?",
        "pushbus://pair?server=https%3A%2F%2Fa.example", "pushbus://pair?code=a",
        "pushbus://pair?server=https%3A%2F%2Fa.example&code=",
        "pushbus://pair?server=https%3A%2F%2Fa.example&code=a&code=b",
        "pushbus://pair?server=https%3A%2F%2Fa.example&code=a&more=b",
        "pushbus://pair?server=http%3A%2F%2Fa.example&code=a",
        "pushbus://pair?server=https%3A%2F%2Fu%40a.example&code=a",
        "pushbus://pair?server=https%3A%2F%2Fa.example&code=%4", "pushbus://pair?server&code=a",
        "pushbus://pair?server=https%3A%2F%2Fa.example&code=%FF",
        "pushbus://revoke?server=https%3A%2F%2Fa.example&code=a",
    ]) func refused(text: String) {
        let error = #expect(throws: DeviceError.self) { try PairingLink(text) }
        #expect(error?.code == .address)
    }

    @Test func anEndlessLinkIsRefused() {
        let text = "pushbus://pair?server=https%3A%2F%2Fa.example&code="
        let code = String(repeating: "a", count: 129)
        #expect(throws: DeviceError.self) { try PairingLink(text + code) }
    }
}
