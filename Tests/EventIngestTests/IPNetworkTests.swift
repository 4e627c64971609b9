import EventIngestCore
import Testing

@Suite struct IPNetworkTests {
    @Test(arguments: [
        ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.1", false),
        ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false),
        ("192.0.2.128/25", "192.0.2.127", false), ("192.0.2.128/25", "192.0.2.255", true),
        ("0.0.0.0/0", "203.0.113.9", true), ("0.0.0.0/0", "2001:db8::1", false),
        ("2001:db8::/32", "2001:db8:ffff::1", true), ("2001:db8::/32", "2001:db9::1", false),
        ("2001:db8::1", "2001:0DB8:0:0:0:0:0:1", true), ("::/0", "::1", true),
        ("fe80::/10", "febf::1", true), ("fe80::/10", "fec0::1", false),
        ("192.0.2.0/24", "::ffff:192.0.2.7", true), ("::ffff:192.0.2.0/120", "192.0.2.7", true),
        ("::ffff:0:0/96", "198.51.100.1", true),
    ])
    func holdsItsAddresses(_ network: String, _ address: String, _ isInside: Bool) throws {
        let (network, address) = (
            try #require(IPNetwork(network)), try #require(IPNetwork(address))
        )
        #expect(network.contains(address) == isInside)
    }

    @Test(arguments: [
        "", "/", "10", "10.0.0", "10.0.0.0.0", "10.0.0.256", "10.0.0.01", "10.0.0.-1", "10.0.0.0/",
        "10.0.0.0/33", "10.0.0.0/+8", "10.0.0.0/8/8", ":", ":::", "1::2::3", "1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:8:9", "::12345", "::g", "::1/129", "1.2.3.4::", "::1.2.3", "fe80::1%eth0",
        " ::1", "+1::",
    ])
    func refusesWhatIsNone(_ text: String) {
        #expect(IPNetwork(text) == nil)
    }
}
