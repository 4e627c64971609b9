/// What a store asks of its database, whichever it is: statements with `$1`, `$2`, … in transactions.
///
/// Cold SQL is written once against `any SQLDatabase`; both drivers give a closure that works on
/// `any SQLConnection`. Text that both understand: ON CONFLICT, RETURNING, coalesce, CASE instead of
/// the two-argument min, whole numbers as 64-bit columns. `INDEXED BY name` is for SQLite's planner
/// and is left out for PostgreSQL. Closures see one consistent state and have no other writer beside
/// them where the database has one owner.
package protocol SQLDatabase: Sendable {
    associatedtype Connection: SQLConnection

    /// Runs a closure in a transaction and returns its value after the COMMIT.
    ///
    /// It may share the transaction with others, in a savepoint of its own: what it throws undoes its
    /// own changes only. It may run more than once, so it must not have effects outside the database.
    /// `rows` is about how many rows it touches, `verb` the function that asks for it.
    @discardableResult
    func write<Value: Sendable>(
        rows: Int,
        verb: StaticString,
        _ body: @escaping @Sendable (Connection) throws -> Value
    ) async throws -> Value

    /// Runs a closure that only reads; it sees what is committed, at one point in time.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (Connection) throws -> Value
    ) async throws -> Value

    /// Finishes what was let in and closes; idempotent.
    func close() async
}

extension SQLDatabase {
    /// Runs a closure in a transaction for the function that calls this.
    @discardableResult
    package func write<Value: Sendable>(
        rows: Int = 1,
        _ body: @escaping @Sendable (Connection) throws -> Value,
        verb: StaticString = #function
    ) async throws -> Value {
        try await write(rows: rows, verb: verb, body)
    }
}

/// The database, seen from inside a store closure.
package protocol SQLConnection: AnyObject {
    associatedtype Row: SQLRow

    /// Runs one statement and returns how many rows it changed.
    @discardableResult
    func execute(_ sql: String, _ bindings: [SQLValue]) throws(StorageError) -> Int

    /// All rows of a statement as values.
    func query<Value>(
        _ sql: String,
        _ bindings: [SQLValue],
        _ row: (Row) throws -> Value
    ) throws -> [Value]

    /// The first row of a statement as a value, nil when there is none.
    func first<Value>(
        _ sql: String,
        _ bindings: [SQLValue],
        _ row: (Row) throws -> Value
    ) throws -> Value?
}

extension SQLConnection {
    /// Runs one statement without placeholders and returns how many rows it changed.
    @discardableResult
    package func execute(_ sql: String) throws(StorageError) -> Int { try execute(sql, []) }

    /// All rows of a statement without placeholders as values.
    package func query<Value>(
        _ sql: String,
        _ row: (Row) throws -> Value
    ) throws -> [Value] { try query(sql, [], row) }

    /// The first row of a statement without placeholders as a value, nil when there is none.
    package func first<Value>(
        _ sql: String,
        _ row: (Row) throws -> Value
    ) throws -> Value? { try first(sql, [], row) }
}

/// The row a statement stands on; valid only inside the closure it was given to.
package protocol SQLRow: SendableMetatype {
    /// The integer in a column, 0 for NULL.
    func int(_ column: Int32) -> Int64
    /// The text in a column, empty for NULL.
    func text(_ column: Int32) -> String
    /// The bytes in a column, empty for NULL.
    func blob(_ column: Int32) -> [UInt8]
    /// Whether a column is NULL.
    func isNull(_ column: Int32) -> Bool
    /// The value in a column by its own type.
    subscript(_ column: Int32) -> SQLValue { get }
}

extension SQLRow {
    /// Whether the integer in a column is not 0.
    package func bool(_ column: Int32) -> Bool { int(column) != 0 }

    /// The integer in a column, nil for NULL.
    package func intOrNil(_ column: Int32) -> Int64? { isNull(column) ? nil : int(column) }

    /// The text in a column, nil for NULL.
    package func textOrNil(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }

    /// The bytes in a column, nil for NULL.
    package func blobOrNil(_ column: Int32) -> [UInt8]? { isNull(column) ? nil : blob(column) }
}
