import RegistrationCore
import Testing

@Suite
struct ThrottleRuleTests {
    private func key(_ number: Int) -> AttemptKey {
        AttemptKey(hash: [UInt8(number >> 8), UInt8(number & 255)])
    }

    @Test func aWindowBeginsWithItsFirstAttempt() {
        var windows = AttemptWindows(attempts: 2, milliseconds: 1000, capacity: 8)
        windows.add(key(1), now: 500)
        #expect(windows.wait(key(1), now: 600) == nil)
        windows.add(key(1), now: 1400)
        #expect(windows.wait(key(1), now: 1400) == 100)
        #expect(windows.wait(key(2), now: 1400) == nil)
        #expect(windows.wait(key(1), now: 1500) == nil)
        windows.takeBack(key(1))
        #expect(windows.wait(key(1), now: 1400) == nil)
    }

    @Test func keepsWhoIsHeldBackWhenKeysFlood() {
        var windows = AttemptWindows(attempts: 2, milliseconds: 1000, capacity: 16)
        windows.add(key(0), now: 0)
        windows.add(key(0), now: 0)
        for number in 1...10_000 {
            windows.add(key(number), now: 1)
            #expect(windows.count <= 16)
        }
        #expect(windows.wait(key(0), now: 2) == 998)
        windows.add(key(20_000), now: 5000)
        #expect(windows.wait(key(0), now: 5000) == nil)
    }

    @Test(arguments: SignInThrottle.Action.allCases)
    func countsAccountsAndSourcesApart(_ action: SignInThrottle.Action) {
        var throttle = SignInThrottle()
        let limits = SignInThrottle.Limits.of(action)
        for number in 0..<limits.perAccount {
            #expect(
                throttle.attempt(action, account: key(1), source: key(1000 + number), now: 0) == nil
            )
        }
        let window = SignInThrottle.windowMilliseconds
        #expect(throttle.attempt(action, account: key(1), source: key(1), now: 9) == window - 9)
        #expect(throttle.attempt(action, account: key(1), source: nil, now: window) == nil)
        for number in 0..<limits.perSource {
            #expect(
                throttle.attempt(action, account: key(3000 + number), source: key(2), now: 0) == nil
            )
        }
        #expect(throttle.attempt(action, account: nil, source: key(2), now: 0) == window)
        throttle.succeeded(action, account: nil, source: key(2))
        #expect(throttle.attempt(action, account: nil, source: key(2), now: 0) == nil)
        for other in SignInThrottle.Action.allCases where other != action {
            #expect(throttle.attempt(other, account: key(1), source: key(2), now: 0) == nil)
        }
    }
}
