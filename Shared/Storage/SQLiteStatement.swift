import CSQLite

/// A prepared statement of one connection; used on that connection's thread only.
///
/// Not Sendable: it is reachable only through the connection that a store closure is given.
package final class SQLiteStatement {
    private let handle: OpaquePointer
    private let database: OpaquePointer
    /// Index that SQLite gave to `$1`, `$2`, …; they may appear in any order in the text.
    private let parameterIndices: [Int32]
    let isReadOnly: Bool

    init(_ sql: String, in database: OpaquePointer) throws(StorageError) {
        var prepared: OpaquePointer?
        var text = sql
        let code = text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
                sqlite3_prepare_v3(
                    database,
                    $0.baseAddress,
                    Int32($0.count),
                    UInt32(SQLITE_PREPARE_PERSISTENT),
                    &prepared,
                    nil
                )
            }
        }
        guard code == SQLITE_OK else {
            throw .sqlite(sqlite3_extended_errcode(database), during: "prepare a statement")
        }
        guard let prepared else { throw StorageError(.misuse, "an empty statement was prepared") }
        self.handle = prepared
        self.database = database
        self.isReadOnly = sqlite3_stmt_readonly(prepared) != 0
        let count = sqlite3_bind_parameter_count(prepared)
        self.parameterIndices = (0..<max(count, 0)).map {
            sqlite3_bind_parameter_index(prepared, "$\($0 + 1)")
        }
        if parameterIndices.contains(0) {
            throw StorageError(.misuse, "placeholders must be $1 to $\(count) without gaps")
        }
    }

    deinit {
        sqlite3_finalize(handle)
    }

    /// Runs to the end and returns how many rows it changed.
    @discardableResult
    package func run(_ bindings: [SQLValue] = []) throws(StorageError) -> Int {
        try bind(bindings)
        defer { reset() }
        while try step() {}
        return Int(sqlite3_changes(database))
    }

    /// Calls `body` once per row until it returns false.
    package func forEach(
        _ bindings: [SQLValue] = [],
        _ body: (SQLiteRow) throws -> Bool
    ) throws {
        try bind(bindings)
        defer { reset() }
        while try step() {
            guard try body(SQLiteRow(handle: handle)) else { break }
        }
    }

    /// All rows as values.
    package func query<Value>(
        _ bindings: [SQLValue] = [],
        _ body: (SQLiteRow) throws -> Value
    ) throws -> [Value] {
        var values: [Value] = []
        try forEach(bindings) {
            values.append(try body($0))
            return true
        }
        return values
    }

    /// The first row as a value, nil when there is none.
    package func first<Value>(
        _ bindings: [SQLValue] = [],
        _ body: (SQLiteRow) throws -> Value
    ) throws -> Value? {
        var value: Value?
        try forEach(bindings) {
            value = try body($0)
            return false
        }
        return value
    }

    private func step() throws(StorageError) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw .sqlite(sqlite3_extended_errcode(database), during: "run a statement")
        }
    }

    /// Forgets row and bindings, so that no secret stays in the cached statement.
    private func reset() {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    private func bind(_ values: [SQLValue]) throws(StorageError) {
        guard values.count == parameterIndices.count else {
            throw StorageError(
                .misuse,
                "the statement has \(parameterIndices.count) placeholders, \(values.count) values were given"
            )
        }
        for (value, index) in zip(values, parameterIndices) {
            let code = bind(value, at: index)
            guard code == SQLITE_OK else { throw .sqlite(code, during: "bind a value") }
        }
    }

    private func bind(_ value: SQLValue, at index: Int32) -> Int32 {
        switch value {
        case .null:
            return sqlite3_bind_null(handle, index)
        case .int(let number):
            return sqlite3_bind_int64(handle, index, number)
        case .text(var text):
            return text.withUTF8 { bytes in
                guard let start = bytes.baseAddress else {
                    return pushbus_sqlite3_bind_text_copy(handle, index, "", 0)
                }
                return start.withMemoryRebound(to: CChar.self, capacity: bytes.count) {
                    pushbus_sqlite3_bind_text_copy(handle, index, $0, Int32(bytes.count))
                }
            }
        case .blob(let bytes):
            return bytes.withUnsafeBytes { buffer in
                guard let start = buffer.baseAddress, !buffer.isEmpty else {
                    return sqlite3_bind_zeroblob(handle, index, 0)
                }
                return pushbus_sqlite3_bind_blob_copy(handle, index, start, Int32(buffer.count))
            }
        }
    }
}
