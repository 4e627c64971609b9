import Contracts
import DeliveryCore
import Testing

@Suite struct ScopePausesTests {
    private func pause(_ pauses: inout ScopePauses, now: Int64, stated: Int64? = nil) {
        pauses.failed(.relay, reason: "RelayBusy", statedMilliseconds: stated, now: now, unit: 1)
    }

    @Test func aPausedScopeHoldsAndThenLetsOneProbeThrough() {
        var pauses = ScopePauses()
        #expect(pauses.admit(100, for: [.relay], now: 0) == .send(100))
        pause(&pauses, now: 0)
        #expect(pauses.admit(100, for: [.relay], now: 10) == .hold(milliseconds: 990))
        #expect(pauses.admit(100, for: [.relay], now: 1000) == .send(1))
        #expect(pauses.admit(100, for: [.relay], now: 1001) == .hold(milliseconds: 1000))
    }

    @Test func failuresUnderWayDoNotLengthenThePause() {
        var pauses = ScopePauses()
        for _ in 0..<100 { pause(&pauses, now: 0) }
        #expect(pauses.admit(1, for: [.relay], now: 1000) == .send(1))
        pause(&pauses, now: 1000)
        #expect(pauses.admit(1, for: [.relay], now: 2999) == .hold(milliseconds: 1))
    }

    @Test func aStatedDelayIsKept() {
        var pauses = ScopePauses()
        pause(&pauses, now: 0, stated: 60_000)
        #expect(pauses.admit(1, for: [.relay], now: 59_999) == .hold(milliseconds: 1))
    }

    @Test func aStatedDelayIsBelievedUpToOurOwnLongest() {
        for (scope, longest) in [
            (PauseScope.relay, Int64(240_000)), (.provider(.sandbox), 900_000),
        ] {
            var pauses = ScopePauses()
            pauses.failed(
                scope,
                reason: "RelayBusy",
                statedMilliseconds: .max,
                now: 0,
                unit: 1
            )
            #expect(pauses.admit(1, for: [scope], now: longest - 1) == .hold(milliseconds: 1))
        }
    }

    @Test func aLostProbeIsReplaced() {
        var pauses = ScopePauses()
        pause(&pauses, now: 0)
        #expect(pauses.admit(9, for: [.relay], now: 1000) == .send(1))
        #expect(pauses.admit(9, for: [.relay], now: 31_000) == .send(1))
    }

    @Test func aProbeThatWasNotSentMakesRoomAtOnce() {
        var pauses = ScopePauses()
        pause(&pauses, now: 0)
        #expect(pauses.admit(9, for: [.relay], now: 1000) == .send(1))
        pauses.withdraw(.relay)
        #expect(pauses.admit(9, for: [.relay], now: 1001) == .send(1))
    }

    @Test func recoveryIsPaced() {
        var pauses = ScopePauses()
        pause(&pauses, now: 0)
        pauses.succeeded(.relay)
        #expect(pauses.admit(10_000, for: [.relay], now: 1) == .send(64))
        for _ in 0..<6 { pauses.succeeded(.relay) }
        #expect(pauses.admit(10_000, for: [.relay], now: 1) == .send(4096))
        pauses.succeeded(.relay)
        #expect(pauses.admit(10_000, for: [.relay], now: 1) == .send(10_000))
    }

    @Test func uncertainTroublePausesAfterSomeInARow() {
        var pauses = ScopePauses()
        func fail() {
            pauses.failed(
                .provider(.sandbox),
                reason: "x",
                statedMilliseconds: nil,
                isCertain: false,
                now: 0,
                unit: 0
            )
        }
        fail()
        fail()
        pauses.succeeded(.provider(.sandbox))
        fail()
        fail()
        #expect(pauses.paused.isEmpty)
        fail()
        #expect(!pauses.paused.isEmpty)
    }

    @Test func environmentsArePausedApart() {
        var pauses = ScopePauses()
        pauses.failed(
            .provider(.sandbox),
            reason: "x",
            statedMilliseconds: nil,
            now: 0,
            unit: 0
        )
        #expect(pauses.admit(5, for: [.relay, .provider(.production)], now: 0) == .send(5))
        #expect(
            pauses.admit(5, for: [.relay, .provider(.sandbox)], now: 0) == .hold(milliseconds: 500)
        )
        #expect(pauses.paused == [.provider(.sandbox): "x"])
    }
}
