import Contracts
import RelayCore
import Testing

@Suite("Rate limits")
struct LimitTests {
    @Test("A window takes its limit and starts anew when it is over")
    func window() {
        var limits = FixedWindow<String>(limit: 2)
        #expect(limits.admit("a", nowMilliseconds: 0) == true)
        #expect(limits.admit("a", nowMilliseconds: 59_999) == true)
        #expect(limits.admit("a", nowMilliseconds: 59_999) == false)
        #expect(limits.admit("b", nowMilliseconds: 59_999) == true)
        #expect(limits.admit("a", nowMilliseconds: 60_000) == true)
    }

    @Test("A full map refuses new keys, keeps old ones, and makes room when windows end")
    func full() {
        var limits = FixedWindow<Int>(limit: 5, capacity: 3)
        for key in 0..<3 { #expect(limits.admit(key, nowMilliseconds: 0) == true) }
        #expect(limits.admit(3, nowMilliseconds: 10) == false)
        #expect(limits.admit(0, nowMilliseconds: 10) == true)
        #expect(limits.count == 3)
        #expect(limits.admit(3, nowMilliseconds: 60_001) == true)
        #expect(limits.count == 1)
    }

    @Test("A flood of new keys never grows the map")
    func flood() {
        var limits = FixedWindow<Int>(limit: 1, capacity: 100)
        for key in 0..<100_000 { _ = limits.admit(key, nowMilliseconds: Int64(key)) }
        #expect(limits.count <= 100)
    }

    @Test(
        "Sources are IPv4 addresses and /64 networks",
        arguments: [
            ("192.0.2.1", SourceKey.v4(0xc000_0201)), ("::ffff:192.0.2.1", .v4(0xc000_0201)),
            ("::ffff:c000:201", .v4(0xc000_0201)),
            ("2001:db8:1:2:3:4:5:6", .v6Network(0x2001_0db8_0001_0002)),
            ("2001:db8:1:2::9", .v6Network(0x2001_0db8_0001_0002)),
            ("2001:DB8::1", .v6Network(0x2001_0db8_0000_0000)), ("::1", .v6Network(0)),
            ("::", .v6Network(0)), ("fe80::1%eth0", .v6Network(0xfe80_0000_0000_0000)),
            ("1::", .v6Network(0x0001_0000_0000_0000)), ("", .unknown), ("unknown", .unknown),
            ("1.2.3", .unknown), ("1.2.3.256", .unknown), ("1.2.3.4.5", .unknown),
            (":::", .unknown), ("1:2:3:4:5:6:7", .unknown), ("1:2:3:4:5:6:7:8:9", .unknown),
            ("1::2::3", .unknown), ("12345::", .unknown), ("g::", .unknown), ("+1::", .unknown),
            (String(repeating: "1", count: 46), .unknown),
        ]
    )
    func sources(text: String, key: SourceKey) {
        #expect(SourceKey(text) == key)
    }
}

@Suite("Breaker")
struct BreakerTests {
    @Test("Closed it passes, open it holds, then one probe at a time")
    func life() {
        var breaker = Breaker(baseMilliseconds: 100, capMilliseconds: 350, probeMilliseconds: 50)
        #expect(breaker.admit(at: 0) == .pass)
        #expect(breaker.failed(reason: "BadTopic", at: 0) == 100)
        #expect(breaker.admit(at: 40) == .hold(reason: "BadTopic", retryAfterMilliseconds: 60))
        // What was under way says nothing new.
        #expect(breaker.failed(reason: "Other", at: 50) == 50)
        #expect(breaker.admit(at: 100) == .probe)
        #expect(breaker.admit(at: 100) == .hold(reason: "BadTopic", retryAfterMilliseconds: 50))
        #expect(breaker.failed(reason: "BadTopic", at: 110) == 200)
        #expect(breaker.admit(at: 310) == .probe)
        #expect(breaker.failed(reason: "BadTopic", at: 310) == 350)
        #expect(breaker.admit(at: 660) == .probe)
        breaker.succeeded()
        #expect(breaker.admit(at: 661) == .pass)
        #expect(!breaker.isOpen)
    }

    @Test("A failure without a probe, after the wait, holds again and longer")
    func failureAfterTheWait() {
        var breaker = Breaker(baseMilliseconds: 100, capMilliseconds: 350, probeMilliseconds: 50)
        #expect(breaker.failed(reason: "ExpiredProviderToken", at: 0) == 100)
        #expect(breaker.failed(reason: "ExpiredProviderToken", at: 100) == 200)
        #expect(breaker.held(at: 299)?.retryAfterMilliseconds == 1)
        #expect(breaker.admit(at: 300) == .probe)
        // The probe's message is tried once more elsewhere, and refused there too.
        breaker.inconclusive(at: 310)
        #expect(breaker.failed(reason: "TooManyProviderTokenUpdates", at: 320) == 350)
    }

    @Test("A probe that never reports, or tells nothing, lets another one go")
    func lostProbe() {
        var breaker = Breaker(baseMilliseconds: 100, capMilliseconds: 350, probeMilliseconds: 50)
        breaker.failed(reason: "BadTopic", at: 0)
        #expect(breaker.admit(at: 100) == .probe)
        #expect(breaker.admit(at: 150) == .probe)
        breaker.inconclusive(at: 160)
        #expect(breaker.held(at: 160) == nil)
        #expect(breaker.admit(at: 160) == .probe)
    }
}
