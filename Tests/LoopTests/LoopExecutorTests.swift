import Glibc
import Loop
import Testing

/// An actor confined to a loop.
actor Confined {
    private let loop: LoopExecutor
    private(set) var count = 0

    init(loop: LoopExecutor) {
        self.loop = loop
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        loop.asUnownedSerialExecutor()
    }

    func add() -> Bool {
        count += 1
        return loop.isCurrent
    }

    /// Returns when a timer of that delay ran.
    func pause(_ delay: Duration) async {
        await withCheckedContinuation { continuation in
            loop.schedule(after: delay) { continuation.resume() }
        }
    }
}

enum BackendKind: CaseIterable {
    case condition
    case epoll

    func make() throws -> any LoopBackend {
        switch self {
        case .condition: ConditionBackend()
        case .epoll: try EpollBackend()
        }
    }
}

@Suite(.timeLimit(.minutes(1)))
struct LoopExecutorTests {
    @Test(
        "No wake-up is lost between tasks that keep sending the loop to sleep",
        arguments: BackendKind.allCases
    )
    func wakeUps(_ kind: BackendKind) async throws {
        let loop = try LoopExecutor(name: "wake-ups", backend: kind.make())
        let actor = Confined(loop: loop)
        await withTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    var onLoop = 0
                    for _ in 0..<2_000 where await actor.add() { onLoop += 1 }
                    return onLoop
                }
            }
            var total = 0
            for await part in group { total += part }
            #expect(total == 8_000)
        }
        #expect(await actor.count == 8_000)
        loop.stop()
    }

    @Test("Timers run in the order of their instants and not before")
    func timers() async throws {
        let loop = try LoopExecutor(name: "timers", backend: ConditionBackend())
        let actor = Confined(loop: loop)
        let clock = ContinuousClock()
        let start = clock.now
        await actor.pause(.milliseconds(20))
        #expect(clock.now - start >= .milliseconds(20))

        let order = Locked<[Int]>([])
        await withCheckedContinuation { continuation in
            loop.execute {
                for delay in [5, 1, 3, 2, 4] {
                    loop.schedule(after: .milliseconds(delay)) {
                        order.withLock { $0.append(delay) }
                        if delay == 5 { continuation.resume() }
                    }
                }
            }
        }
        #expect(order.withLock { $0 } == [1, 2, 3, 4, 5])
        loop.stop()
    }

    @Test("A cancelled timer never runs, however many there are")
    func cancelledTimers() async throws {
        let loop = try LoopExecutor(name: "cancelled", backend: ConditionBackend())
        let ran = Locked(0)
        await withCheckedContinuation { continuation in
            loop.execute {
                var timers: [LoopTimer] = []
                for index in 0..<1_000 {
                    timers.append(
                        loop.schedule(after: .microseconds(index)) { ran.withLock { $0 += 1 } }
                    )
                }
                for (index, timer) in timers.enumerated() where index % 4 != 0 { timer.cancel() }
                loop.schedule(after: .milliseconds(5)) { continuation.resume() }
            }
        }
        #expect(ran.withLock { $0 } == 250)
        loop.stop()
    }

    @Test(
        "Stop runs what is queued, may be repeated, and later jobs still run",
        arguments: BackendKind.allCases
    )
    func stop(_ kind: BackendKind) async throws {
        let loop = try LoopExecutor(name: "stop", backend: kind.make())
        let ran = Locked(0)
        for _ in 0..<100 { loop.execute { ran.withLock { $0 += 1 } } }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<3 { group.addTask { loop.stop() } }
        }
        #expect(ran.withLock { $0 } == 100)
        let actor = Confined(loop: loop)
        #expect(await actor.add())
        #expect(await actor.add())
        loop.stop()
    }

    @Test("A loop may stop itself")
    func stopFromWithin() async throws {
        let loop = try LoopExecutor(name: "self", backend: ConditionBackend())
        await withCheckedContinuation { continuation in
            loop.execute {
                loop.stop()
                continuation.resume()
            }
        }
        loop.stop()
    }

    @Test("A task that prefers the loop runs there")
    func preference() async throws {
        let loop = try LoopExecutor(name: "preference", backend: EpollBackend())
        let onLoop = await withTaskExecutorPreference(loop) { await whereAmI(loop) }
        #expect(onLoop)
        loop.stop()
    }

    @concurrent
    private func whereAmI(_ loop: LoopExecutor) async -> Bool {
        loop.isCurrent
    }
}
