/// One value for a PostgreSQL statement: a single one, or an array for `unnest`.
package enum PostgreSQLValue: Hashable, Sendable {
    case value(SQLValue)
    /// `bigint[]`
    case ints([Int64?])
    /// `text[]`
    case texts([String?])
    /// `bytea[]`
    case blobs([[UInt8]?])

    /// The object identifier of its type (catalog pg_type), 0 where the server has to infer it.
    var type: UInt32 {
        switch self {
        case .value(.null): 0
        case .value(.int): PostgreSQLType.int8
        case .value(.text): PostgreSQLType.text
        case .value(.blob): PostgreSQLType.bytea
        case .ints: 1016
        case .texts: 1009
        case .blobs: 1001
        }
    }
}

/// Object identifiers of the types that are read and written (catalog pg_type; they never change).
enum PostgreSQLType {
    static let bool: UInt32 = 16
    static let bytea: UInt32 = 17
    static let int8: UInt32 = 20
    static let int2: UInt32 = 21
    static let int4: UInt32 = 23
    static let text: UInt32 = 25
    static let numeric: UInt32 = 1700
}

/// Parameters in PostgreSQL's binary form, one after another in one run of bytes.
struct PostgreSQLParameters {
    private(set) var bytes: [UInt8] = []
    /// Start of each parameter, nil for NULL.
    private(set) var offsets: [Int?] = []
    private(set) var lengths: [Int32] = []

    init(_ values: [PostgreSQLValue]) {
        offsets.reserveCapacity(values.count)
        lengths.reserveCapacity(values.count)
        for value in values {
            let start = bytes.count
            let isPresent = append(value)
            offsets.append(isPresent ? start : nil)
            lengths.append(Int32(bytes.count - start))
        }
    }

    private mutating func append(_ value: PostgreSQLValue) -> Bool {
        switch value {
        case .value(.null): return false
        case .value(.int(let number)): append(number)
        case .value(.text(let text)): bytes += text.utf8
        case .value(.blob(let blob)): bytes += blob
        case .ints(let numbers):
            append(array: numbers, of: PostgreSQLType.int8) {
                $0.append(8 as Int32); $0.append($1)
            }
        case .texts(let texts):
            append(array: texts, of: PostgreSQLType.text) {
                $0.append(Int32($1.utf8.count))
                $0.bytes += $1.utf8
            }
        case .blobs(let blobs):
            append(array: blobs, of: PostgreSQLType.bytea) {
                $0.append(Int32($1.count))
                $0.bytes += $1
            }
        }
        return true
    }

    /// Dimensions, whether there are NULLs, type, count, lower bound, then the elements with lengths
    /// (array_recv in the server's arrayfuncs.c).
    private mutating func append<Element>(
        array: [Element?],
        of type: UInt32,
        element: (inout Self, Element) -> Void
    ) {
        append(array.isEmpty ? 0 : 1 as Int32)
        append(array.contains { $0 == nil } ? 1 : 0 as Int32)
        append(Int32(bitPattern: type))
        guard !array.isEmpty else { return }
        append(Int32(array.count))
        append(1 as Int32)
        for entry in array {
            if let entry { element(&self, entry) } else { append(-1 as Int32) }
        }
    }

    private mutating func append(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.bigEndian) { bytes += $0 }
    }
}
