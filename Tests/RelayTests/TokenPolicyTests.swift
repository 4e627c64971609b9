import Contracts
import RelayCore
import Testing

@Suite("Provider token policy")
struct TokenPolicyTests {
    private static let minute: Int64 = 60_000
    private static let start: Int64 = 2_000_000_000_000

    private func wall(_ minutes: Int64) -> UnixMilliseconds {
        UnixMilliseconds(Self.start + minutes * Self.minute)
    }

    private func opening(_ policy: TokenPolicy, _ minutes: Int64) -> TokenPolicy.Opening {
        policy.opening(at: minutes * Self.minute, wall: wall(minutes))
    }

    private func sign(_ policy: inout TokenPolicy, _ minutes: Int64) -> TokenPolicy.Token {
        policy.signed(at: minutes * Self.minute, issuedAt: wall(minutes).second)
    }

    @Test("The first connection signs, the next ones share, an old token is not handed out")
    func sharing() {
        var policy = TokenPolicy()
        #expect(opening(policy, 0) == .sign)
        let first = sign(&policy, 0)
        #expect(opening(policy, 0) == .use(first))
        #expect(opening(policy, 30) == .use(first))
        #expect(opening(policy, 31) == .sign)
        let second = sign(&policy, 31)
        #expect(second.generation == 2)
        #expect(opening(policy, 40) == .use(second))
    }

    @Test("A connection is due when its token is 50 minutes old")
    func due() {
        var policy = TokenPolicy()
        let token = sign(&policy, 0)
        #expect(!policy.isDue(token, at: 50 * Self.minute - 1))
        #expect(policy.isDue(token, at: 50 * Self.minute))
        #expect(!policy.isSpent(token, at: 56 * Self.minute))
        #expect(policy.isSpent(token, at: 57 * Self.minute))
    }

    @Test("No two tokens within 20 minutes, whatever is asked")
    func spacing() {
        var policy = TokenPolicy()
        var signed: [Int64] = []
        for minute in stride(from: Int64(0), to: 600, by: 1) {
            // Openings and complaints all the time.
            if case .sign = opening(policy, minute) {
                _ = sign(&policy, minute)
                signed.append(minute)
            }
            if minute % 7 == 0, let current = policy.current {
                _ = policy.expired(current, at: minute * Self.minute)
            }
        }
        #expect(signed.count > 10)
        for (earlier, later) in zip(signed, signed.dropFirst()) { #expect(later - earlier >= 20) }
    }

    @Test("An old token called expired is renewed once, for all connections that had it")
    func renewal() {
        var policy = TokenPolicy()
        let first = sign(&policy, 0)
        #expect(policy.expired(first, at: 25 * Self.minute) == .renew)
        #expect(policy.current == nil)
        #expect(opening(policy, 25) == .sign)
        #expect(policy.expired(first, at: 25 * Self.minute) == .renew)
        let second = sign(&policy, 25)
        // Late answers to the old token sign nothing.
        #expect(policy.expired(first, at: 26 * Self.minute) == .renew)
        #expect(opening(policy, 26) == .use(second))
        #expect(policy.expired(second, at: 26 * Self.minute) == .clockIsWrong)
        #expect(opening(policy, 26) == .use(second))
    }

    @Test("A young token called expired means that the clock is wrong")
    func clock() {
        var policy = TokenPolicy()
        let token = sign(&policy, 0)
        #expect(policy.expired(token, at: 20 * Self.minute - 1) == .clockIsWrong)
        #expect(policy.current == token)
    }

    @Test("After too many updates nothing is signed, and the held token stays in use")
    func tooManyUpdates() {
        var policy = TokenPolicy()
        let token = sign(&policy, 0)
        policy.tooManyUpdates(at: 40 * Self.minute)
        #expect(opening(policy, 45) == .use(token))
        #expect(opening(policy, 56) == .use(token))
        #expect(opening(policy, 58) == .wait(milliseconds: 2 * Self.minute))
        #expect(opening(policy, 60) == .sign)
    }

    @Test("A token whose iat no longer fits the wall clock is signed anew, but not too often")
    func step() {
        var policy = TokenPolicy()
        let token = sign(&policy, 0)
        let back = UnixMilliseconds(Self.start - 3_600_000)
        #expect(
            policy.opening(at: 5 * Self.minute, wall: back)
                == .wait(milliseconds: 15 * Self.minute)
        )
        #expect(policy.opening(at: 20 * Self.minute, wall: back) == .sign)
        let ahead = UnixMilliseconds(Self.start + 2 * 3_600_000)
        #expect(policy.opening(at: 21 * Self.minute, wall: ahead) == .sign)
        #expect(policy.opening(at: 21 * Self.minute, wall: wall(21)) == .use(token))
    }

    @Test("A step of the wall clock is noticed, drift is not")
    func watch() {
        var watch = ClockWatch()
        func observe(_ wall: Int64, _ monotonic: Int64) -> Int64? {
            watch.observe(wall: UnixMilliseconds(wall), monotonicMilliseconds: monotonic)
        }
        #expect(observe(1_000_000, 0) == nil)
        #expect(observe(1_020_100, 20_000) == nil)
        #expect(observe(4_640_100, 40_000) == 3_600_000)
        #expect(observe(4_660_100, 60_000) == nil)
        #expect(observe(1_080_100, 80_000) == -3_600_000)
    }
}
