import Contracts
import Glibc
import Loop
import Topology

/// Alerts to every installation of a world: as many as it takes, or at a given pace.
struct PathLoad: Sendable {
    let world: BenchWorld
    let installations: Int
    /// Events are new each time, also among several loads of one world.
    private let events = Locked(BenchEvents())

    /// Speed and processor time of deliveries.
    struct Figure {
        /// Deliveries a second.
        var rate: Double
        /// By process, for one delivery.
        var cpuMicroseconds: [String: Double]
    }

    /// Publishes that many alerts and waits for the last 200 and for the last commit.
    func deliver(_ count: Int) async throws -> Figure {
        let batch = try alerts(count)
        let deliveries = count * installations
        let before = try await world.simulator.accepted()
        let cpuBefore = try cpu()
        let start = ContinuousClock.now
        for first in stride(from: 0, to: count, by: 100) {
            try await world.publish(Array(batch[first..<min(first + 100, count)]))
        }
        try await world.simulator.wait(forAccepted: before + deliveries)
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        try await world.waitUntilSettled()
        let used = try cpu().merging(cpuBefore) { $0 - $1 }
        return Figure(
            rate: Double(deliveries) / seconds,
            cpuMicroseconds: used.mapValues { $0 / Double(deliveries) * 1_000_000 }
        )
    }

    /// Times single notifications, in milliseconds, while alerts to everybody make this many
    /// deliveries a second.
    func measure(_ probe: LatencyProbe, beside rate: Double) async throws -> [Double] {
        let interval = Duration.seconds(Double(installations) / rate)
        let alerts = try alerts(min(10_000, max(10, Int(60 * rate) / installations)))
        let load = Task {
            for alert in alerts where !Task.isCancelled {
                let next = ContinuousClock.now + interval
                try await world.publish([alert])
                try? await Task.sleep(until: next)
            }
        }
        let latencies = try await probe.measure(200, pause: .milliseconds(20))
        load.cancel()
        _ = try? await load.value
        try await world.waitUntilSettled()
        return latencies
    }

    private func alerts(_ count: Int) throws -> [JSONValue] {
        try (0..<count).map { _ in try events.withLock { try $0.alert() } }
    }

    private func cpu() throws -> [String: Double] {
        try world.processIDs.mapValues { try ProcessFigures.cpuSeconds($0) }
    }
}

extension BenchWorld {
    /// Returns once no event is on its way and no row of the outbox waits.
    func waitUntilSettled() async throws {
        for _ in 0..<6_000 {
            let status = try await ask(.delivery, OutboxStatus())
            if status.states.allSatisfy({ $0.state.isTerminal || $0.rows == 0 }) { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw BenchFailure("the outbox did not become empty")
    }
}
