import Contracts
import FoundationEssentials
import Glibc
import Topology

/// An outbox with a million rows that wait: how long a restarted Delivery takes to its first send, how
/// fast it then sends, how much memory it needs, and whether its questions are slower than before.
struct StartBenchmark: Benchmark {
    static let name = "start"
    static let summary = "a million pending rows: start to first send, drain, memory, questions"

    private let options: BenchOptions
    /// Installations of one event; the rest of the million is the number of events.
    private static let audience = 500

    init(_ options: BenchOptions) { self.options = options }

    func run(_ report: BenchReport) async throws {
        try await BenchWorld.onBothStores { world, prefix in
            try await run(report, prefix, in: world)
        }
    }

    private func run(
        _ report: BenchReport,
        _ prefix: String,
        in world: BenchWorld
    ) async throws {
        _ = try await BenchPhone.register(Self.audience, in: world)
        let outbox = try await PendingOutbox(world)
        await world.stop(.relay)
        try await outbox.fill(events: 1)
        let small = try await outbox.questions()
        let start = ContinuousClock.now
        let events = options.pending / Self.audience
        try await outbox.fill(events: events)
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        report.result(
            prefix + "pending.fill",
            value: Double(options.pending) / seconds,
            unit: "rows/s"
        )
        for (name, full) in try await outbox.questions() {
            guard let empty = small.first(where: { $0.0 == name })?.1 else { continue }
            report.result(
                "\(prefix)pending.\(name)",
                value: full,
                unit: "ms",
                reference: empty,
                ratio: full / empty,
                against: "one event"
            )
        }
        try await restart(report, prefix, in: world)
    }

    private func restart(
        _ report: BenchReport,
        _ prefix: String,
        in world: BenchWorld
    ) async throws {
        await world.stop(.delivery)
        try await world.restart(.relay)
        let before = try await world.simulator.accepted()
        let start = ContinuousClock.now
        let ready = Task { try await world.restart(.delivery) }
        try await world.simulator.wait(forAccepted: before + 1)
        let first = ContinuousClock.now
        let seconds = (first - start) / .seconds(1)
        report.result(prefix + "start.million_pending", value: seconds, unit: "s", limit: 2)
        try await ready.value
        var memory = 0.0
        while ContinuousClock.now - first < .seconds(10) {
            guard let pid = world.processIDs[PushBusService.delivery.rawValue] else { break }
            memory = max(memory, try ProcessFigures.memoryMiB(pid))
            try await Task.sleep(for: .milliseconds(100))
        }
        let sent = try await world.simulator.accepted() - before
        let time = (ContinuousClock.now - first) / .seconds(1)
        report.result(prefix + "pending.drain", value: Double(sent) / time, unit: "deliveries/s")
        report.result(
            prefix + "memory.delivery.pending",
            value: memory,
            unit: "MiB",
            limit: 96
        )
    }
}

/// Fills Delivery's outbox as Fanout does and asks what an operator asks.
struct PendingOutbox {
    private let world: BenchWorld
    private let watermark: Int64
    private let recipients: [AudiencePageAnswer.Recipient]
    /// Questions of a kind whose median counts.
    private static let repeats = 21
    /// Batches under way at a time.
    private static let lanes = 8

    init(_ world: BenchWorld) async throws {
        self.world = world
        watermark = try await world.ask(.registration, AudienceOpen()).watermark
        recipients = try await world.ask(
            .registration,
            AudiencePage(
                category: .alert,
                watermark: watermark,
                audience: .everyone,
                after: nil,
                limit: BusLimits.records
            )
        ).recipients
    }

    /// Adds that many events with a row for each installation.
    func fill(events: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<Self.lanes {
                group.addTask {
                    for _ in stride(from: lane, to: events, by: Self.lanes) {
                        _ = try await world.ask(.delivery, batch())
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private func batch(of count: Int = .max) -> DeliveryEnqueue {
        let now = Int64(time(nil))
        return DeliveryEnqueue(
            eventID: EventID(UUID()),
            category: .alert,
            createdAt: UnixSeconds(now),
            expiresAt: UnixSeconds(now + 1_800),
            watermark: watermark,
            records: recipients.prefix(count).map {
                DeliveryEnqueue.Record(
                    installationID: $0.installationID,
                    binding: $0.binding,
                    // Nothing between here and a phone can tell that nobody can open it.
                    envelope: Envelope(
                        keyID: $0.keyID,
                        identity: String(repeating: "0", count: 64),
                        nonce: Blob([UInt8](repeating: 1, count: Envelope.nonceBytes)),
                        ciphertext: Blob([UInt8](repeating: 2, count: 400))
                    )
                )
            }
        )
    }

    /// Median milliseconds of each question.
    func questions() async throws -> [(String, Double)] {
        guard let installation = recipients.first?.installationID else { return [] }
        return [
            ("status", try await median { _ = try await world.ask(.delivery, OutboxStatus()) }),
            (
                "receipts",
                try await median {
                    _ = try await world.ask(
                        .delivery,
                        ReceiptQuery(installationID: installation, limit: 100)
                    )
                }
            ),
            (
                "receipts_by_state",
                try await median {
                    _ = try await world.ask(.delivery, ReceiptQuery(state: .pending, limit: 100))
                }
            ),
            ("enqueue", try await median { _ = try await world.ask(.delivery, batch(of: 1)) }),
        ]
    }

    private func median(_ ask: () async throws -> Void) async throws -> Double {
        var times: [Double] = []
        for _ in 0..<Self.repeats {
            let start = ContinuousClock.now
            try await ask()
            times.append((ContinuousClock.now - start) / .milliseconds(1))
        }
        return BenchReport.median(times)
    }
}
