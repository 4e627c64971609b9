import Contracts
import Loop

/// Times single test notifications from the call of publish to the arrival at a simulated phone,
/// which wants no alerts. The way from the simulator to the listener counts in.
final class LatencyProbe: Sendable {
    private let world: BenchWorld
    private let phone: BenchPhone
    private let arrivals: BoundedChannel<SimulatorControl.Arrival>
    private let listening: Task<Void, any Error>

    /// Registers a phone of that number and begins to listen.
    static func start(number: Int, in world: BenchWorld) async throws -> LatencyProbe {
        let phones = try await BenchPhone.register(
            1,
            from: number,
            wantsAlerts: false,
            in: world
        )
        guard let phone = phones.first else { throw BenchFailure("there is no phone") }
        let probe = LatencyProbe(world, phone)
        guard case .listening = await probe.arrivals.next() else {
            throw BenchFailure("the simulator lets nobody listen")
        }
        return probe
    }

    private init(_ world: BenchWorld, _ phone: BenchPhone) {
        let arrivals = BoundedChannel<SimulatorControl.Arrival>(capacity: 100)
        self.world = world
        self.phone = phone
        self.arrivals = arrivals
        listening = Task {
            defer { arrivals.finish() }
            try await world.simulator.listen(to: phone.token) { arrivals.trySend($0) }
        }
    }

    /// The times of that many notifications, one after another, in milliseconds.
    func measure(_ count: Int, pause: Duration) async throws -> [Double] {
        var times: [Double] = []
        for _ in 0..<count {
            let event = try BenchEvents.test(phone.installation)
            let start = ContinuousClock.now
            try await world.publish([event])
            guard case .push(let arrival) = await arrivals.next() else {
                throw BenchFailure("the simulator ended the stream")
            }
            times.append((arrival - start) / .milliseconds(1))
            try await Task.sleep(for: pause)
        }
        return times
    }

    func stop() async {
        listening.cancel()
        _ = try? await listening.value
    }
}
