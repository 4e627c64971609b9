/// Splits ascending row numbers into runs without gaps whose neighbours are alike.
struct RowRuns: Sequence, IteratorProtocol {
    private let rows: [Int64]
    private let isAlike: (Int64, Int64) -> Bool
    private var place = 0

    /// Repeated numbers count once.
    init(_ ascending: [Int64], isAlike: @escaping (Int64, Int64) -> Bool = { _, _ in true }) {
        rows = ascending
        self.isAlike = isAlike
    }

    mutating func next() -> ClosedRange<Int64>? {
        guard place < rows.count else { return nil }
        let first = rows[place]
        var last = first
        place += 1
        while place < rows.count, rows[place] - last <= 1, isAlike(last, rows[place]) {
            last = rows[place]
            place += 1
        }
        return first...last
    }
}
