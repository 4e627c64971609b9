import Loop
import TestKit
import Testing

@Suite(.timeLimit(.minutes(1)))
struct StopSignalTests {
    @Test("Everybody who waits is let go, and who comes later does not wait")
    func trigger() async {
        let signal = StopSignal()
        let order = Locked<[Int]>([])
        for index in 0..<5 { signal.onTrigger { order.withLock { $0.append(index) } } }
        let removed = signal.onTrigger { order.withLock { $0.append(99) } }
        signal.remove(removed)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<10 { group.addTask { await signal.wait() } }
            #expect(!signal.isTriggered)
            signal.trigger()
        }
        signal.trigger()
        await signal.wait()
        signal.onTrigger { order.withLock { $0.append(5) } }
        #expect(order.withLock { $0 } == [0, 1, 2, 3, 4, 5])
        #expect(signal.isTriggered)
    }

    @Test("A cancelled task stops waiting")
    func cancellation() async {
        let signal = StopSignal()
        for _ in 0..<200 {
            let waiting = Task { await signal.wait() }
            await Task.yield()
            waiting.cancel()
            await waiting.value
        }
        #expect(!signal.isTriggered)
    }
}
