import CSQLite

/// The open file, seen from inside a store closure on the store's thread.
///
/// Not Sendable: a closure cannot let it escape to another thread. Statements are prepared once and
/// kept; placeholders are `$1`, `$2`, ….
package final class SQLiteConnection: SQLConnection {
    let handle: OpaquePointer
    private var statements: [String: SQLiteStatement] = [:]
    /// Set while a read runs: statements that write are refused.
    var refusesWrites = false

    /// The cache is emptied when it holds this many; a program that builds SQL text at run time would
    /// otherwise grow without bound.
    private static let maximumCachedStatements = 256

    /// Once in a process, before SQLite is used; it goes on with them where it was used before.
    private static let hasNoStatistics = pushbus_sqlite3_no_memory_statistics() == SQLITE_OK

    init(opening path: String) throws(StorageError) {
        _ = Self.hasNoStatistics
        var opened: OpaquePointer?
        let flags =
            SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
            | SQLITE_OPEN_PRIVATECACHE
        let code = sqlite3_open_v2(path, &opened, flags, nil)
        guard code == SQLITE_OK, let opened else {
            sqlite3_close_v2(opened)
            throw .sqlite(code, during: "open \(path)")
        }
        self.handle = opened
    }

    /// Ends the connection; statements go first, since SQLite keeps a file open that still has some.
    func close() throws(StorageError) {
        statements.removeAll()
        let code = sqlite3_close(handle)
        guard code == SQLITE_OK else { throw .sqlite(code, during: "close the file") }
    }

    /// The cached prepared statement for a text; keep it while looping over rows.
    package func prepare(_ sql: String) throws(StorageError) -> SQLiteStatement {
        let statement: SQLiteStatement
        if let cached = statements[sql] {
            statement = cached
        } else {
            if statements.count >= Self.maximumCachedStatements { statements.removeAll() }
            statement = try SQLiteStatement(sql, in: handle)
            statements[sql] = statement
        }
        if refusesWrites && !statement.isReadOnly {
            throw StorageError(.misuse, "a read closure ran a statement that writes; use write")
        }
        return statement
    }

    /// Runs one statement and returns how many rows it changed.
    @discardableResult
    package func execute(
        _ sql: String,
        _ bindings: [SQLValue]
    ) throws(StorageError) -> Int {
        try prepare(sql).run(bindings)
    }

    /// All rows of a statement as values.
    package func query<Value>(
        _ sql: String,
        _ bindings: [SQLValue],
        _ row: (SQLiteRow) throws -> Value
    ) throws -> [Value] {
        try prepare(sql).query(bindings, row)
    }

    /// The first row of a statement as a value, nil when there is none.
    package func first<Value>(
        _ sql: String,
        _ bindings: [SQLValue],
        _ row: (SQLiteRow) throws -> Value
    ) throws -> Value? {
        try prepare(sql).first(bindings, row)
    }

    /// The row id of the latest insert.
    package var lastInsertedRow: Int64 { sqlite3_last_insert_rowid(handle) }

    /// Runs statements without placeholders, separated by semicolons, without keeping them.
    func script(_ sql: String) throws(StorageError) {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else {
            throw .sqlite(sqlite3_extended_errcode(handle), during: "run a script")
        }
    }

    /// Whether a transaction is open.
    var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// Runs `body` between BEGIN IMMEDIATE and COMMIT, rolled back if it throws.
    func transaction<Value>(_ body: () throws -> Value) throws -> Value {
        try execute("BEGIN IMMEDIATE")
        do {
            let value = try body()
            try execute("COMMIT")
            return value
        } catch {
            rollBack()
            throw error
        }
    }

    /// Leaves whatever transaction is still open; SQLite may have left it already.
    func rollBack() {
        if isInTransaction { sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
    }
}
