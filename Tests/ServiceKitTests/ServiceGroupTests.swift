import Glibc
import Loop
import ServiceKit
import TestKit
import Testing

/// Notes when it starts and stops; may hang, fail or end early.
private struct Noted: Service {
    enum Conduct { case orderly, stuck, deaf, endsEarly, throwsEarly }

    struct Broken: Error {}

    let name: String
    let conduct: Conduct
    let notes: Observed<[String]>

    func run(until stop: StopSignal) async throws {
        notes.update { $0.append("\(name) runs") }
        switch conduct {
        case .endsEarly: return
        case .throwsEarly: throw Broken()
        case .orderly: await stop.wait()
        case .stuck:
            await stop.wait()
            notes.update { $0.append("\(name) is stuck") }
            await StopSignal().wait()
        case .deaf:
            await withCheckedContinuation { (_: CheckedContinuation<Void, Never>) in }
        }
        notes.update { $0.append("\(name) stopped") }
    }
}

/// Signals that a test sends.
private struct FakeSignals {
    let handler = Observed<(@Sendable (Int32) -> Void)?>(nil)

    var feed: SignalFeed {
        SignalFeed { handler in
            self.handler.update { $0 = handler }
            return {}
        }
    }

    func send(_ number: Int32) {
        handler.value?(number)
    }
}

@Suite(.timeLimit(.minutes(1)))
struct ServiceGroupTests {
    private let notes = Observed<[String]>([])
    private let time = ManualTime()
    private let signals = FakeSignals()

    private func start(_ services: [(String, Noted.Conduct)], log: Log = .silent) -> Task<
        Int32, Never
    > {
        let group = ServiceGroup(
            services.map { Noted(name: $0.0, conduct: $0.1, notes: notes) },
            gracePeriod: .seconds(5),
            log: log,
            time: time,
            signals: signals.feed
        )
        return Task { await group.run() }
    }

    private func waitForStart(_ count: Int) async {
        await notes.wait { $0.filter { $0.hasSuffix("runs") }.count == count }
    }

    @Test("A signal stops the services in reverse order, one at a time")
    func reverseOrder() async {
        let run = start([("a", .orderly), ("b", .orderly), ("c", .orderly)])
        await waitForStart(3)
        signals.send(SIGTERM)
        #expect(await run.value == 0)
        #expect(notes.value.suffix(3) == ["c stopped", "b stopped", "a stopped"])
    }

    @Test("A stuck service is cancelled after its grace period and the ones below still stop")
    func stuck() async {
        let collector = LogCollector()
        let run = start([("a", .orderly), ("b", .stuck), ("c", .orderly)], log: collector.log())
        await waitForStart(3)
        signals.send(SIGTERM)
        await notes.wait { $0.contains("b is stuck") }
        #expect(!notes.value.contains("a stopped"))
        // c's timer and b's: both sleep although c is done.
        await time.waitForSleepers(2)
        time.advance(by: .seconds(5))
        #expect(await run.value == 1)
        #expect(notes.value.suffix(2) == ["b stopped", "a stopped"])
        #expect(collector.lines(of: "grace period over").count == 1)
    }

    @Test("A service deaf even to cancellation is left behind")
    func deaf() async {
        let run = start([("a", .orderly), ("b", .deaf)])
        await waitForStart(2)
        signals.send(SIGINT)
        await time.waitForSleepers(1)
        time.advance(by: .seconds(5))
        await time.waitForSleepers(1)
        time.advance(by: ServiceGroup.abandonAfter)
        #expect(await run.value == 1)
        #expect(notes.value.last == "a stopped")
    }

    @Test("A second signal ends at once")
    func secondSignal() async {
        let run = start([("a", .orderly), ("b", .stuck)])
        await waitForStart(2)
        signals.send(SIGTERM)
        await notes.wait { $0.contains("b is stuck") }
        signals.send(SIGINT)
        #expect(await run.value == 128 + SIGINT)
    }

    @Test("A service that ends unasked stops the others and fails the process")
    func endsEarly() async {
        for conduct in [Noted.Conduct.endsEarly, .throwsEarly] {
            let collector = LogCollector()
            let run = start([("a", .orderly), ("b", conduct)], log: collector.log())
            #expect(await run.value == 1)
            #expect(notes.value.last == "a stopped")
            #expect(collector.lines(of: "service ended unasked").count == 1)
        }
    }

    @Test("Real signals of this process are seen")
    func realSignal() async {
        let group = ServiceGroup(
            [Noted(name: "a", conduct: .orderly, notes: notes)],
            gracePeriod: .seconds(5),
            log: .silent
        )
        async let code = group.run()
        await waitForStart(1)
        kill(getpid(), SIGTERM)
        #expect(await code == 0)
    }

    @Test("A group without services ends at once")
    func empty() async {
        #expect(await start([]).value == 0)
    }
}
