import Contracts
import Storage

/// A store whose cold statements are those of every SQL database.
protocol SQLDeliveryStore: DeliveryStore {
    associatedtype Database: SQLDatabase
    var database: Database { get }
}

extension SQLDeliveryStore {
    package func cleanups(limit: Int) async throws -> [StoredCleanup] {
        try await database.read { connection in
            try connection.query(
                """
                SELECT row, installation, binding, token_hash, kind, apns_timestamp, confirmed_at
                FROM cleanup ORDER BY row LIMIT $1
                """,
                [.int(limit)]
            ) { row -> StoredCleanup? in
                guard let kind = CleanupKind(rawValue: row.text(4)) else { return nil }
                return StoredCleanup(
                    rowID: row.int(0),
                    item: RegistrationCleanup.Item(
                        installationID: InstallationID(row.text(1)),
                        binding: row.int(2),
                        tokenHash: Blob(row.blob(3)),
                        kind: kind,
                        apnsTimestamp: row.intOrNil(5).map(UnixMilliseconds.init),
                        confirmedAt: UnixMilliseconds(row.int(6))
                    )
                )
            }.compactMap(\.self)
        }
    }

    package func acknowledge(cleanups rowIDs: [Int64]) async throws {
        try await database.write(rows: rowIDs.count) { connection in
            for row in rowIDs {
                try connection.execute("DELETE FROM cleanup WHERE row = $1", [.int(row)])
            }
        }
    }

    package func status() async throws -> OutboxStatusAnswer {
        try await database.read { connection in
            let columns: [(ReceiptState, String)] = [
                (.pending, "open - retryable"), (.retryable, "retryable"), (.accepted, "accepted"),
                (.permanent, "permanent"), (.expired, "expired"),
            ]
            let states = try columns.compactMap { state, column in
                try connection.first(
                    """
                    SELECT coalesce(sum(\(column)), 0), min(created_at) FROM event WHERE \(column) > 0
                    """
                ) {
                    OutboxStatusAnswer.StateCount(
                        state: state,
                        rows: $0.int(0),
                        oldestAt: $0.intOrNil(1).map { UnixSeconds($0) }
                    )
                }
            }
            let waiting = try connection.first("SELECT count(*) FROM cleanup") { $0.int(0) }
            return OutboxStatusAnswer(states: states, cleanupsWaiting: waiting ?? 0)
        }
    }

    package func receipts(_ query: ReceiptQuery) async throws -> ReceiptQueryAnswer {
        try await database.read { connection in
            if let event = query.eventID, let installation = query.installationID {
                let found = try connection.query(
                    OutboxWindow.columns + "WHERE e.event_id = $1 AND o.installation = $2",
                    [.blob(event.bytes), .text(installation.text)],
                    OutboxWindow.receipt
                )
                let wanted = found.compactMap(\.self)
                    .filter { query.state == nil || $0.receipt.state == query.state }
                    .filter { $0.row > query.after ?? 0 }
                return ReceiptQueryAnswer(receipts: wanted.map(\.receipt), next: nil)
            }
            return try OutboxWindow.page(query, on: connection)
        }
    }
}

/// Rows by a window of row numbers: bounded work whatever the filter.
enum OutboxWindow {
    /// Rows that one page of receipts looks at; a page may be empty and still have a next one.
    private static let rowsPerPage: Int64 = 20_000

    /// A receipt needs these, in the order in which it is read.
    static let columns = """
        SELECT o.id, e.event_id, o.installation, e.category, o.state, o.reason, o.attempts,
            e.created_at, e.expires_at, o.updated_at, o.due
        FROM event e JOIN outbox o ON o.event = e.id 
        """

    /// One page of receipts.
    static func page(
        _ query: ReceiptQuery,
        on connection: any SQLConnection
    ) throws -> ReceiptQueryAnswer {
        guard let range = try rowRange(of: query.eventID, on: connection) else {
            return ReceiptQueryAnswer(receipts: [], next: nil)
        }
        let first = max(range.lowerBound, (query.after ?? 0) + 1)
        let last = min(range.upperBound, first + rowsPerPage - 1)
        guard first <= last else { return ReceiptQueryAnswer(receipts: [], next: nil) }
        let found = try connection.query(
            """
            SELECT o.id, e.event_id, o.installation, e.category, o.state, o.reason, o.attempts,
                e.created_at, e.expires_at, o.updated_at, o.due
            FROM outbox o NOT INDEXED CROSS JOIN event e
            WHERE e.id = o.event AND o.id BETWEEN $1 AND $2 AND ($3 IS NULL OR e.event_id = $3)
                AND ($4 IS NULL OR o.installation = $4) AND ($5 IS NULL OR o.state = $5)
            ORDER BY o.id LIMIT $6
            """,
            [
                .int(first), .int(last), .blob(orNull: query.eventID?.bytes),
                .text(orNull: query.installationID?.text),
                .int(orNull: query.state.map(StateCode.of)), .int(query.limit),
            ],
            receipt
        ).compactMap(\.self)
        let isFull = found.count >= query.limit
        let end = isFull ? found.last?.row ?? last : last
        return ReceiptQueryAnswer(
            receipts: found.map(\.receipt),
            next: end < range.upperBound ? end : nil
        )
    }

    /// The row numbers that an event's rows lie between, or all rows without one.
    static func rowRange(
        of event: EventID?,
        on connection: any SQLConnection
    ) throws -> ClosedRange<Int64>? {
        let bounds: (first: Int64?, last: Int64?)?
        if let event {
            bounds = try connection.first(
                "SELECT first_row, last_row FROM event WHERE event_id = $1",
                [.blob(event.bytes)]
            ) { ($0.intOrNil(0), $0.intOrNil(1)) }
        } else {
            bounds = try connection.first(
                "SELECT (SELECT min(id) FROM outbox), max(id) FROM outbox"
            ) {
                ($0.intOrNil(0), $0.intOrNil(1))
            }
        }
        guard let first = bounds?.first, let last = bounds?.last, first <= last else { return nil }
        return first...last
    }

    static func receipt(_ row: any SQLRow) -> (
        row: Int64, receipt: ReceiptQueryAnswer.Receipt
    )? {
        guard
            let event = EventID(bytes: row.blob(1)), let category = Category(rawValue: row.text(3)),
            let state = StateCode.state(row.int(4))
        else { return nil }
        return (
            row.int(0),
            ReceiptQueryAnswer.Receipt(
                eventID: event,
                installationID: InstallationID(row.text(2)),
                category: category,
                state: state,
                reason: row.textOrNil(5),
                attempts: row.int(6),
                createdAt: UnixSeconds(row.int(7)),
                expiresAt: UnixSeconds(row.int(8)),
                updatedAt: UnixMilliseconds(row.int(9)),
                nextAttemptAt: state.isTerminal ? nil : UnixMilliseconds(row.int(10))
            )
        )
    }
}
