import Glibc
import Loop
import Testing

@Suite(.timeLimit(.minutes(1)))
struct SerialThreadTests {
    private struct Refused: Error {}

    @Test("Blocking calls on their own threads hold nobody else up")
    func blocking() async throws {
        // More threads than the pool is wide; each waits for all the others to arrive.
        let count = 8
        let threads = try (0..<count).map { try SerialThread(name: "blocking \($0)") }
        let arrived = Locked(0)
        await withTaskGroup(of: Void.self) { group in
            for thread in threads {
                group.addTask {
                    await #expect(throws: Never.self) {
                        try await thread.run {
                            arrived.withLock { $0 += 1 }
                            while arrived.withLock({ $0 }) < count { sched_yield() }
                        }
                    }
                }
            }
        }
        #expect(arrived.withLock { $0 } == count)
        for thread in threads { thread.stop() }
    }

    @Test("Calls run one after another, on the thread, and errors come back")
    func results() async throws {
        let thread = try SerialThread(name: "results")
        let number = try await thread.run { thread.isCurrent ? 7 : 0 }
        #expect(number == 7)
        #expect(!thread.isCurrent)
        await #expect(throws: Refused.self) { try await thread.run { throw Refused() } }
        thread.stop()
        thread.stop()
        #expect(try await thread.run { 8 } == 8)
    }
}
