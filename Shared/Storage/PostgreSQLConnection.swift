import ServiceKit

/// A connection to a PostgreSQL database, seen from inside a store closure on its own thread.
///
/// Not Sendable: a closure cannot let it escape to another thread. Statements are prepared once and
/// kept; a statement that fails ends the transaction around it, so a closure lets its error through.
package final class PostgreSQLConnection: SQLConnection {
    private let link: PostgreSQLLink
    private let options: PostgreSQLOptions
    private var prepared: [Statement: String] = [:]
    private var statementCount = 0
    /// The server's clock when the running transaction began, in milliseconds since 1970.
    package private(set) var beganAt: Int64 = 0

    /// The same text with values of other types is another statement to the server.
    private struct Statement: Hashable {
        var sql: String
        var types: [UInt32]
    }

    /// The cache is emptied when it holds this many; a program that builds SQL text at run time would
    /// otherwise grow without bound.
    private static let maximumCachedStatements = 256
    /// How much later than the server the client gives up by itself.
    private static let grace: Duration = .seconds(2)

    /// Connects and makes the session's settings; blocks the thread for at most the connect timeout
    /// and one statement timeout.
    package init(url: PostgreSQLURL, options: PostgreSQLOptions) throws(StorageError) {
        link = try PostgreSQLLink(
            to: url,
            applicationName: options.applicationName,
            within: options.connectTimeout
        )
        self.options = options
        try script(Self.session(options))
    }

    /// Whether the connection has to be made anew.
    package var isLost: Bool { link.isLost }

    @discardableResult
    package func execute(_ sql: String, _ bindings: [SQLValue]) throws(StorageError) -> Int {
        try run(sql, bindings.map { .value($0) }).affectedRows
    }

    package func query<Value>(
        _ sql: String,
        _ bindings: [SQLValue],
        _ row: (PostgreSQLRow) throws -> Value
    ) throws -> [Value] {
        try query(sql, arrays: bindings.map { .value($0) }, row)
    }

    package func first<Value>(
        _ sql: String,
        _ bindings: [SQLValue],
        _ row: (PostgreSQLRow) throws -> Value
    ) throws -> Value? {
        let result = try run(sql, bindings.map { .value($0) })
        guard result.rowCount > 0 else { return nil }
        return try row(PostgreSQLRow(handle: result.handle, row: 0))
    }

    /// Runs one statement with arrays for `unnest` among its values; returns how many rows it changed.
    @discardableResult
    package func execute(
        _ sql: String,
        arrays bindings: [PostgreSQLValue]
    ) throws(StorageError) -> Int {
        try run(sql, bindings).affectedRows
    }

    /// All rows of a statement with arrays for `unnest` among its values.
    package func query<Value>(
        _ sql: String,
        arrays bindings: [PostgreSQLValue],
        _ row: (PostgreSQLRow) throws -> Value
    ) throws -> [Value] {
        let result = try run(sql, bindings)
        return try (0..<result.rowCount).map {
            try row(PostgreSQLRow(handle: result.handle, row: $0))
        }
    }

    /// Runs statements without placeholders, separated by semicolons, without keeping them.
    package func script(_ sql: String) throws(StorageError) {
        _ = try link.run(script: sql, within: options.statementTimeout + Self.grace)
    }

    /// Runs `body` between BEGIN and COMMIT, rolled back if it throws.
    ///
    /// Throws `outcomeUnknown` when the connection was lost during the COMMIT.
    package func transaction<Value>(
        _ begin: String = "BEGIN",
        _ body: () throws -> Value
    ) throws -> Value {
        try start(begin)
        do {
            let value = try body()
            try commit()
            return value
        } catch {
            rollBack()
            throw error
        }
    }

    /// Begins, and reads the server's clock on the same way.
    private func start(_ begin: String) throws(StorageError) {
        let result = try link.run(
            script: "\(begin); SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint",
            within: options.statementTimeout + Self.grace
        )
        beganAt = Int64(PostgreSQLRow(handle: result.handle, row: 0).text(0)) ?? 0
    }

    /// Whether a transaction is open and none of its statements failed.
    var isInTransaction: Bool { link.isInTransaction }

    /// Leaves whatever transaction is still open.
    func rollBack() {
        if !link.isLost && link.hasTransaction { try? script("ROLLBACK") }
    }

    /// Ends the transaction; a statement timeout must not cut off the wait for a replica, which would
    /// pass off an unreplicated commit as done.
    func commit() throws(StorageError) {
        let answer: PostgreSQLResult
        do {
            answer = try link.run(
                script: "SET LOCAL statement_timeout = 0; COMMIT",
                within: options.commitTimeout
            )
        } catch {
            guard link.isLost else { throw error }
            throw StorageError(
                .outcomeUnknown,
                "the connection was lost during a COMMIT; whether it happened is not known, do the same again",
                sqlState: error.sqlState
            )
        }
        guard answer.command == "COMMIT" else {
            throw StorageError(.misuse, "a store closure went on after a statement had failed")
        }
    }

    private func run(_ sql: String, _ values: [PostgreSQLValue]) throws(StorageError)
        -> PostgreSQLResult
    {
        let limit = options.statementTimeout + Self.grace
        let statement = Statement(sql: sql, types: values.map(\.type))
        do {
            let name = try prepare(statement, within: limit)
            return try link.run(prepared: name, PostgreSQLParameters(values), within: limit)
        } catch {
            if error.isStaleStatement { forgetStatements() }
            throw error
        }
    }

    private func prepare(_ statement: Statement, within limit: Duration) throws(StorageError)
        -> String
    {
        if let name = prepared[statement] { return name }
        if prepared.count >= Self.maximumCachedStatements { forgetStatements() }
        statementCount += 1
        let name = "s\(statementCount)"
        let text = PostgreSQLText.translated(statement.sql, types: statement.types)
        try link.prepare(name, text, types: statement.types, within: limit)
        prepared[statement] = name
        return name
    }

    private func forgetStatements() {
        prepared.removeAll()
        if !link.isLost && !link.hasTransaction { try? script("DEALLOCATE ALL") }
    }

    private static func session(_ options: PostgreSQLOptions) -> String {
        var settings = [
            "statement_timeout": "\(options.statementTimeout.clampedNanoseconds / 1_000_000)",
            "lock_timeout": "\(options.lockTimeout.clampedNanoseconds / 1_000_000)",
            "idle_in_transaction_session_timeout":
                "\(options.idleInTransactionTimeout.clampedNanoseconds / 1_000_000)",
            "search_path": options.schema,
            "client_encoding": "UTF8",
            "client_min_messages": "warning",
        ]
        settings.merge(options.session) { $1 }
        return settings.sorted { $0.key < $1.key }
            .map { "SET \($0.key) = \(PostgreSQLText.literal($0.value));" }.joined()
            // What was promised is on the disk; stronger settings of the operator stay.
            + "SELECT set_config('synchronous_commit', 'on', false) "
            + "WHERE current_setting('synchronous_commit') = 'off'"
    }
}
