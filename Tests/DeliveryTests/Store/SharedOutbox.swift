import Contracts
import DeliveryCore
import DeliveryService
import Loop
import ServiceKit
import Storage
import TestKit

/// One PostgreSQL outbox and several stores on it, as several processes would have.
struct SharedOutbox {
    let server: PostgreSQLServer
    let name: String
    let stores: [PostgreSQLDeliveryStore]

    /// Opens the stores on a fresh database, runs the body, checks the counters and closes.
    static func with(
        _ count: Int,
        server: PostgreSQLServer? = nil,
        clock: (any TimeSource)? = nil,
        time: any TimeSource = SystemTime(),
        options: PostgreSQLOptions = PostgreSQLDeliveryStore.options,
        _ body: (SharedOutbox) async throws -> Void
    ) async throws {
        let server = try server ?? PostgreSQLServer.shared.get()
        let address = try server.database()
        let url = try PostgreSQLURL(address)
        var stores: [PostgreSQLDeliveryStore] = []
        for _ in 0..<count {
            stores.append(
                try await PostgreSQLDeliveryStore.open(
                    url,
                    clock: clock,
                    time: time,
                    options: options
                )
            )
        }
        let name = address.split(separator: "/").last.map(String.init) ?? ""
        let outbox = SharedOutbox(server: server, name: name, stores: stores)
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(outbox))
        } catch {
            result = .failure(error)
        }
        for store in stores { await store.close() }
        try result.get()
    }

    /// What one statement prints in the outbox's schema.
    func sql(_ text: String) throws -> String {
        try server.sql("SET search_path = pushbus_delivery; " + text, in: name)
    }

    /// Ends all sessions, as an administrator would.
    func endSessions() throws {
        try server.sql(
            """
            SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE datname = '\(name)' AND pid <> pg_backend_pid()
            """
        )
    }

    /// Events whose counters differ from their rows, and ciphertexts without an open row; empty when
    /// all is well.
    func faults() throws -> String {
        try sql(
            """
            SELECT 'event ' || c.event FROM event_count c LEFT JOIN (
                SELECT event, count(*) FILTER (WHERE state < 2) AS open,
                    count(*) FILTER (WHERE state = 1) AS retryable,
                    count(*) FILTER (WHERE state = 2) AS accepted,
                    count(*) FILTER (WHERE state = 3) AS permanent,
                    count(*) FILTER (WHERE state = 4) AS expired,
                    min(due) FILTER (WHERE state < 2 AND claims < 2) AS due
                FROM outbox GROUP BY event
            ) r ON r.event = c.event
            WHERE (c.open, c.retryable, c.accepted, c.permanent, c.expired) <>
                (coalesce(r.open, 0), coalesce(r.retryable, 0), coalesce(r.accepted, 0),
                coalesce(r.permanent, 0), coalesce(r.expired, 0)) OR c.turn > r.due
            UNION ALL
            SELECT 'envelope ' || row FROM envelope b LEFT JOIN outbox o ON o.id = b.row
            WHERE coalesce(o.state, 9) >= 2
            UNION ALL
            SELECT 'row ' || id FROM outbox o LEFT JOIN envelope b ON b.row = o.id
            WHERE o.state < 2 AND b.row IS NULL
            """
        )
    }

    /// Claims and accepts on all stores side by side until the outbox has accepted that many rows;
    /// returns the row numbers in the order in which they were claimed.
    func drain(_ rows: Int, lease: Duration = .seconds(60)) async throws -> [Int64] {
        let claimed = Locked<[Int64]>([])
        let accepted = Locked(0)
        let stores = stores
        try await within(.seconds(60)) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for store in stores {
                    group.addTask {
                        while accepted.withLock({ $0 }) < rows {
                            try Task.checkCancellation()
                            try await Self.turn(store, lease, claimed, accepted)
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        return claimed.withLock { $0 }
    }

    private static func turn(
        _ store: PostgreSQLDeliveryStore,
        _ lease: Duration,
        _ claimed: Locked<[Int64]>,
        _ accepted: Locked<Int>
    ) async throws {
        do {
            let found = try await store.claim(limit: 64, lease: lease).rows
            guard !found.isEmpty else { return }
            claimed.withLock { $0 += found.map(\.lease.rowID) }
            let results = try await store.settle(found.map { RowOutcome($0, .accepted) })
            let ended = results.count { $0 == .ended(.accepted) }
            accepted.withLock { $0 += ended }
        } catch let error as StorageError where error.isRetriable {
            // Whoever works on the outbox tries again.
        }
    }
}
