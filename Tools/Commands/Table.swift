/// Rows in aligned columns, for people.
package struct Table: Sendable {
    private var rows: [[String]]
    private let rightAligned: Set<Int>

    /// `rightAligned` numbers the columns that hold figures, from 0.
    package init(_ heads: [String], rightAligned: Set<Int> = []) {
        rows = [heads]
        self.rightAligned = rightAligned
    }

    package mutating func add(_ row: [String]) { rows.append(row) }

    /// How many rows there are below the heads.
    package var count: Int { rows.count - 1 }

    /// The table with a newline after each row.
    package var text: String {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in
            rows.map { $0.count > column ? Self.width($0[column]) : 0 }.max() ?? 0
        }
        return rows.map { row in
            var line = ""
            for (column, cell) in row.enumerated() {
                let gap = String(repeating: " ", count: widths[column] - Self.width(cell))
                if column > 0 { line += "  " }
                line += rightAligned.contains(column) ? gap + cell : cell + gap
            }
            while line.last == " " { line.removeLast() }
            return line + "\n"
        }.joined()
    }

    /// Columns of a terminal: CJK characters and emoji take two.
    private static func width(_ text: String) -> Int {
        text.reduce(0) { sum, character in
            let scalar = character.unicodeScalars.first?.value ?? 0
            let isWide =
                (0x1100...0x115f).contains(scalar) || (0x2e80...0xa4cf).contains(scalar)
                || (0xac00...0xd7a3).contains(scalar) || (0xf900...0xfaff).contains(scalar)
                || (0xfe30...0xfe4f).contains(scalar) || (0xff00...0xff60).contains(scalar)
                || (0x1f300...0x1faff).contains(scalar)
            return sum + (isWide ? 2 : 1)
        }
    }
}
