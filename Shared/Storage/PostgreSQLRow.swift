import CPostgreSQL

/// What a statement answered; owns libpq's memory.
final class PostgreSQLResult {
    let handle: OpaquePointer

    init(_ handle: OpaquePointer) { self.handle = handle }

    deinit { PQclear(handle) }

    var rowCount: Int32 { PQntuples(handle) }

    /// Rows that the statement changed or returned.
    var affectedRows: Int { Int(String(cString: PQcmdTuples(handle))) ?? 0 }

    /// `COMMIT`, `ROLLBACK`, `INSERT 0 1`, …
    var command: String { String(cString: PQcmdStatus(handle)) }
}

/// One row of an answer; valid only inside the closure it was given to.
package struct PostgreSQLRow: SQLRow {
    let handle: OpaquePointer
    let row: Int32

    package func isNull(_ column: Int32) -> Bool { PQgetisnull(handle, row, column) == 1 }

    /// The integer in a column, 0 for NULL and for what is no whole number.
    package func int(_ column: Int32) -> Int64 {
        guard !isNull(column) else { return 0 }
        let bytes = self.bytes(column)
        return switch UInt32(PQftype(handle, column)) {
        case PostgreSQLType.int8: Int64(bitPattern: load(bytes))
        case PostgreSQLType.int4: Int64(Int32(bitPattern: load(bytes)))
        case PostgreSQLType.int2: Int64(Int16(bitPattern: load(bytes)))
        case PostgreSQLType.bool: bytes.first == 1 ? 1 : 0
        case PostgreSQLType.numeric: wholeNumber(bytes)
        default: 0
        }
    }

    package func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }

    package func blob(_ column: Int32) -> [UInt8] { [UInt8](bytes(column)) }

    package subscript(_ column: Int32) -> SQLValue {
        guard !isNull(column) else { return .null }
        return switch UInt32(PQftype(handle, column)) {
        case PostgreSQLType.int8, PostgreSQLType.int4, PostgreSQLType.int2, PostgreSQLType.bool,
            PostgreSQLType.numeric:
            .int(int(column))
        case PostgreSQLType.bytea: .blob(blob(column))
        default: .text(text(column))
        }
    }

    private func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            start: PQgetvalue(handle, row, column),
            count: Int(PQgetlength(handle, row, column))
        )
    }

    private func load<Number: FixedWidthInteger & UnsignedInteger>(
        _ bytes: UnsafeRawBufferPointer
    ) -> Number {
        bytes.reduce(0) { $0 << 8 | Number($1) }
    }

    /// `sum` of bigint is numeric: digits of base 10,000 with a weight (numeric_send in numeric.c).
    private func wholeNumber(_ bytes: UnsafeRawBufferPointer) -> Int64 {
        guard bytes.count >= 8 else { return 0 }
        func word(_ index: Int) -> UInt16 {
            load(UnsafeRawBufferPointer(rebasing: bytes[index * 2..<index * 2 + 2]))
        }
        let count = min(Int(word(0)), bytes.count / 2 - 4)
        let weight = Int(Int16(bitPattern: word(1)))
        guard weight >= 0 else { return 0 }
        var number: Int64 = 0
        for index in 0...weight {
            let digit = index < count ? Int64(word(4 + index)) : 0
            let (scaled, overflow) = number.multipliedReportingOverflow(by: 10_000)
            guard !overflow else { return .max }
            number = scaled &+ digit
        }
        return word(2) == 0x4000 ? -number : number
    }
}
