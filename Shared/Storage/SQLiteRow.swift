import CSQLite

/// The row a statement stands on; valid only inside the closure it was given to.
package struct SQLiteRow: SQLRow {
    let handle: OpaquePointer

    /// The integer in a column, 0 for NULL.
    package func int(_ column: Int32) -> Int64 {
        sqlite3_column_int64(handle, column)
    }

    /// The text in a column, empty for NULL; bytes that are not UTF-8 are repaired.
    package func text(_ column: Int32) -> String {
        guard let start = sqlite3_column_text(handle, column) else { return "" }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    /// The bytes in a column, empty for NULL.
    package func blob(_ column: Int32) -> [UInt8] {
        guard let start = sqlite3_column_blob(handle, column) else { return [] }
        let count = Int(sqlite3_column_bytes(handle, column))
        return [UInt8](UnsafeRawBufferPointer(start: start, count: count))
    }

    /// Whether a column is NULL.
    package func isNull(_ column: Int32) -> Bool {
        sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    /// The value in a column by its own type; a floating point number becomes text.
    package subscript(_ column: Int32) -> SQLValue {
        switch sqlite3_column_type(handle, column) {
        case SQLITE_NULL: .null
        case SQLITE_INTEGER: .int(int(column))
        case SQLITE_BLOB: .blob(blob(column))
        default: .text(text(column))
        }
    }
}
