import Contracts
import DeliveryCore
import DeliveryService
import FoundationEssentials
import ServiceKit
import Storage
import TestKit

/// What the outbox alone does on each store, durable, in batches like those of the path.
struct StoreBenchmark: Benchmark {
    static let name = "store"
    static let summary = "the outbox alone on both stores: hand-off, claim and verdict"

    private let options: BenchOptions
    private static let lease = Duration.seconds(60)
    private static let batch = 512
    private static let claim = 256

    init(_ options: BenchOptions) { self.options = options }

    func run(_ report: BenchReport) async throws {
        let folder = try BenchDirectory.make()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let sqlite = try await SQLiteDeliveryStore.open(
            path: "\(folder)/outbox.sqlite",
            time: SystemTime()
        )
        try await measure(sqlite, "store.sqlite", report)
        await sqlite.close()
        let server = try PostgreSQLServer(settings: "max_wal_size = 4GB")
        let url = try PostgreSQLURL(server.database())
        let postgreSQL = try await PostgreSQLDeliveryStore.open(url)
        try await measure(postgreSQL, "store.postgresql", report)
        await postgreSQL.close()
        server.stop()
    }

    private func measure(
        _ store: any DeliveryStore,
        _ name: String,
        _ report: BenchReport
    ) async throws {
        var held: [Double] = []
        var waiting: [Double] = []
        var claimed: [Double] = []
        for _ in 0..<options.rounds {
            held.append(try await direct(store))
            let (enqueue, claim) = try await indirect(store)
            waiting.append(enqueue)
            claimed.append(claim)
        }
        let results = [("direct", held), ("enqueue", waiting), ("claim_settle", claimed)]
        for (verb, rates) in results {
            report.result(
                "\(name).\(verb)",
                value: BenchReport.median(rates),
                unit: "rows/s"
            )
        }
    }

    /// Rows a second that are inserted in hand and then accepted, four hand-offs side by side.
    private func direct(_ store: any DeliveryStore) async throws -> Double {
        let start = ContinuousClock.now
        let lanes = 4
        let batches = options.deliveries / Self.batch / lanes
        let event = EventID(UUID())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<lanes {
                group.addTask {
                    for number in 0..<batches {
                        let first = (lane * batches + number) * Self.batch
                        let rows = try await store.enqueue(
                            Self.records(event, first),
                            leasing: Self.batch,
                            lease: Self.lease
                        ).leased
                        try await Self.accept(rows, store)
                    }
                }
            }
            try await group.waitForAll()
        }
        return Double(lanes * batches * Self.batch) / ((ContinuousClock.now - start) / .seconds(1))
    }

    /// Rows a second that are inserted to wait, then those that are claimed and accepted.
    private func indirect(_ store: any DeliveryStore) async throws -> (Double, Double) {
        let batches = options.deliveries / Self.batch
        let event = EventID(UUID())
        let start = ContinuousClock.now
        for number in 0..<batches {
            let batch = Self.records(event, number * Self.batch)
            _ = try await store.enqueue(batch, leasing: 0, lease: Self.lease)
        }
        let filled = ContinuousClock.now
        var accepted = 0
        while accepted < batches * Self.batch {
            let rows = try await store.claim(limit: Self.claim, lease: Self.lease).rows
            try await Self.accept(rows, store)
            accepted += rows.count
        }
        let end = ContinuousClock.now
        let rows = Double(batches * Self.batch)
        return (rows / ((filled - start) / .seconds(1)), rows / ((end - filled) / .seconds(1)))
    }

    private static func accept(_ rows: [ClaimedRow], _ store: any DeliveryStore) async throws {
        let outcomes = rows.map {
            RowOutcome(
                rowID: $0.lease.rowID,
                generation: $0.lease.generation,
                change: .accepted
            )
        }
        _ = try await store.settle(outcomes)
    }

    private static func records(_ event: EventID, _ first: Int) -> DeliveryEnqueue {
        let now = SystemTime().wall.second
        return DeliveryEnqueue(
            eventID: event,
            category: .alert,
            createdAt: now,
            expiresAt: now.adding(seconds: 1800),
            watermark: 40,
            records: (first..<first + batch).map { number in
                DeliveryEnqueue.Record(
                    installationID: InstallationID("phone-\(number)"),
                    binding: 3,
                    envelope: Envelope(
                        keyID: KeyID(UUID()),
                        identity: String(repeating: "0a", count: 32),
                        nonce: Blob(Array(repeating: 7, count: 12)),
                        ciphertext: Blob(Array(repeating: 9, count: 880))
                    )
                )
            }
        )
    }
}
