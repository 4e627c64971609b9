import CQREncode

/// A QR code (ISO/IEC 18004) of a short text, through libqrencode.
package struct QRCode: Sendable {
    /// Modules on a side.
    package let width: Int
    private let dark: [Bool]

    /// Nil when the text is empty, holds a zero byte or is too long for a code.
    package init?(_ text: String) {
        let symbol = QRcode_encodeString(text, 0, QR_ECLEVEL_M, QR_MODE_8, 1)
        guard let symbol else { return nil }
        defer { QRcode_free(symbol) }
        guard let data = symbol.pointee.data else { return nil }
        let side = Int(symbol.pointee.width)
        width = side
        // The lowest bit of each byte says whether the module is dark (qrencode.h).
        dark = (0..<side * side).map { data[$0] & 1 == 1 }
    }

    /// Whether the module is dark; everything outside is light.
    package func isDark(_ row: Int, _ column: Int) -> Bool {
        guard (0..<width).contains(row), (0..<width).contains(column) else { return false }
        return dark[row * width + column]
    }

    /// The code with its quiet zone, two rows of modules in a line of half blocks, light modules
    /// drawn. `colored` sets white on black by itself, whatever the terminal's own colors are.
    package func text(colored: Bool) -> String {
        let zone = 4
        let (begin, end) = colored ? ("\u{1B}[40;97m", "\u{1B}[0m") : ("", "")
        return stride(from: -zone, to: width + zone, by: 2).map { row in
            let line = (-zone..<width + zone).map { column in
                switch (isDark(row, column), isDark(row + 1, column)) {
                case (false, false): "█"
                case (false, true): "▀"
                case (true, false): "▄"
                case (true, true): " "
                }
            }
            return begin + line.joined() + end + "\n"
        }.joined()
    }
}
