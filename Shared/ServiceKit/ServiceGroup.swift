import Glibc
import Loop

/// Runs the services of a process and stops them in reverse order, one at a time.
///
/// A service that ends unasked, with or without an error, stops the others and makes the exit code
/// 1. So does one that outlives its grace period: its task is cancelled, and the next one down is
/// stopped all the same, so that a store below still closes. A second signal cancels everything
/// and ends at once with 128 plus the signal's number.
package struct ServiceGroup: Sendable {
    private enum Event: Sendable {
        case ended(index: Int, failure: String?)
        case signal(Int32)
        case stopRequested
        case graceOver(index: Int)
        case abandoned(index: Int)
    }

    private let services: [any Service]
    private let gracePeriod: Duration
    private let log: Log
    private let time: any TimeSource
    private let signals: SignalFeed
    private let stop: StopSignal

    /// How long a cancelled service is waited for before it is left behind.
    package static let abandonAfter = Duration.seconds(1)

    /// The grace period is per service. The group also stops when `stop` is raised.
    package init(
        _ services: [any Service],
        gracePeriod: Duration,
        log: Log,
        time: any TimeSource = SystemTime(),
        signals: SignalFeed = .process,
        stop: StopSignal = StopSignal()
    ) {
        self.services = services
        self.gracePeriod = gracePeriod
        self.log = log
        self.time = time
        self.signals = signals
        self.stop = stop
    }

    /// Starts all services in order, waits for the end and returns the process's exit code.
    package func run() async -> Int32 {
        // Every sender sends a bounded number of events, so the channel is never full: end, grace
        // and abandonment once per service, two signals, one request to stop.
        let events = BoundedChannel<Event>(capacity: services.count * 3 + 3)
        let signalBudget = Locked(2)
        let unwatch = await signals.start { number in
            let within = signalBudget.withLock { budget in
                budget -= 1
                return budget >= 0
            }
            if within { _ = events.trySend(.signal(number)) }
        }
        let registration = stop.onTrigger { _ = events.trySend(.stopRequested) }
        defer {
            stop.remove(registration)
            unwatch()
        }
        var run = Run(group: self, events: events)
        return await run.untilEnd()
    }

    /// The state of one run; everything that happens passes through one `switch`.
    private struct Run {
        let group: ServiceGroup
        let events: BoundedChannel<Event>
        let stops: [StopSignal]
        var tasks: [Task<Void, Never>] = []
        var timers: [Task<Void, Never>] = []
        var running: Set<Int>
        var exitCode: Int32 = 0
        /// The service that is being stopped.
        var stopping: Int?
        var isStopping = false
        var signalCount = 0

        init(group: ServiceGroup, events: BoundedChannel<Event>) {
            self.group = group
            self.events = events
            stops = group.services.map { _ in StopSignal() }
            running = Set(group.services.indices)
        }

        mutating func untilEnd() async -> Int32 {
            startAll()
            defer { for timer in timers { timer.cancel() } }
            while !running.isEmpty, let event = await events.next() {
                switch event {
                case .ended(let index, let failure): ended(index, failure)
                case .signal(let number):
                    signalCount += 1
                    if signalCount > 1 { return stopByForce(number) }
                    group.log.info("stopping", ["signal": .int(number)])
                    stopNext()
                case .stopRequested:
                    if !isStopping { group.log.info("stopping") }
                    stopNext()
                case .graceOver(let index): graceOver(index)
                case .abandoned(let index): abandon(index)
                }
            }
            return exitCode
        }

        private mutating func startAll() {
            for (index, service) in group.services.enumerated() {
                let stop = stops[index]
                let events = events
                tasks.append(
                    Task {
                        var failure: String?
                        do {
                            try await service.run(until: stop)
                        } catch {
                            failure = String(describing: error)
                        }
                        _ = events.trySend(.ended(index: index, failure: failure))
                    }
                )
            }
        }

        private func stopByForce(_ number: Int32) -> Int32 {
            group.log.warning("stopped by force", ["signal": .int(number)])
            for task in tasks { task.cancel() }
            return 128 + number
        }

        private mutating func ended(_ index: Int, _ failure: String?) {
            guard running.remove(index) != nil else { return }
            var fields: [String: LogValue] = ["service": .string(group.services[index].name)]
            if let failure { fields["error"] = .string(failure) }
            if !stops[index].isTriggered {
                exitCode = 1
                group.log.error("service ended unasked", fields)
            } else if failure != nil {
                exitCode = 1
                group.log.error("service failed to stop in order", fields)
            } else {
                group.log.debug("service stopped", fields)
            }
            if stopping == index { stopping = nil }
            stopNext()
        }

        /// Asks the last started service that still runs to stop, unless one is being stopped.
        private mutating func stopNext() {
            isStopping = true
            guard stopping == nil, let index = running.max() else { return }
            stopping = index
            stops[index].trigger()
            after(group.gracePeriod, .graceOver(index: index))
        }

        private mutating func graceOver(_ index: Int) {
            guard running.contains(index), stopping == index else { return }
            exitCode = 1
            group.log.error(
                "grace period over",
                [
                    "service": .string(group.services[index].name),
                    "grace_ms": .milliseconds(group.gracePeriod),
                ]
            )
            tasks[index].cancel()
            after(ServiceGroup.abandonAfter, .abandoned(index: index))
        }

        private mutating func abandon(_ index: Int) {
            guard running.remove(index) != nil else { return }
            group.log.error("service left behind", ["service": .string(group.services[index].name)])
            if stopping == index { stopping = nil }
            stopNext()
        }

        private mutating func after(_ duration: Duration, _ event: Event) {
            let time = group.time
            let events = events
            timers.append(
                Task {
                    if (try? await time.sleep(for: duration)) != nil { _ = events.trySend(event) }
                }
            )
        }
    }
}
