/// Swift source with comments and the content of string literals blanked out, line for line.
struct SourceText {
    private enum Mode {
        case code
        case lineComment
        case blockComment(depth: Int)
        case string(hashes: Int, multiline: Bool)
    }

    private let input: [UInt8]
    private var output: [UInt8] = []
    private var position = 0
    private var mode = Mode.code

    /// The code alone, with every newline kept.
    static func code(of source: String) -> String {
        var text = SourceText(input: Array(source.utf8))
        text.run()
        return String(decoding: text.output, as: UTF8.self)
    }

    private init(input: [UInt8]) {
        self.input = input
        output.reserveCapacity(input.count)
    }

    private mutating func run() {
        while position < input.count {
            switch mode {
            case .code: code()
            case .lineComment: lineComment()
            case .blockComment(let depth): blockComment(depth)
            case .string(let hashes, let multiline): string(hashes, multiline)
            }
        }
    }

    private func starts(with text: StaticString, at offset: Int = 0) -> Bool {
        let start = position + offset
        guard start + text.utf8CodeUnitCount <= input.count else { return false }
        return text.withUTF8Buffer { $0.elementsEqual(input[start..<start + $0.count]) }
    }

    /// Copies or blanks that many bytes; newlines always stay.
    private mutating func step(_ count: Int, keep: Bool) {
        for byte in input[position..<min(position + count, input.count)] {
            output.append(keep || byte == UInt8(ascii: "\n") ? byte : UInt8(ascii: " "))
        }
        position += count
    }

    private mutating func code() {
        if starts(with: "//") {
            mode = .lineComment
        } else if starts(with: "/*") {
            mode = .blockComment(depth: 0)
        } else if let hashes = hashesBeforeQuote() {
            let multiline = starts(with: "\"\"\"", at: hashes)
            step(hashes + (multiline ? 3 : 1), keep: true)
            mode = .string(hashes: hashes, multiline: multiline)
        } else {
            step(1, keep: true)
        }
    }

    /// The number of `#` before a quote that opens a string here, nil when none opens.
    private func hashesBeforeQuote() -> Int? {
        var offset = 0
        while position + offset < input.count, input[position + offset] == UInt8(ascii: "#") {
            offset += 1
        }
        guard position + offset < input.count, input[position + offset] == UInt8(ascii: "\"") else {
            return nil
        }
        return offset
    }

    private mutating func lineComment() {
        if input[position] == UInt8(ascii: "\n") { mode = .code }
        step(1, keep: false)
    }

    private mutating func blockComment(_ depth: Int) {
        if starts(with: "/*") {
            step(2, keep: false)
            mode = .blockComment(depth: depth + 1)
        } else if starts(with: "*/") {
            step(2, keep: false)
            mode = depth > 1 ? .blockComment(depth: depth - 1) : .code
        } else {
            step(1, keep: false)
        }
    }

    private mutating func string(_ hashes: Int, _ multiline: Bool) {
        let quote = multiline ? 3 : 1
        let quoteHere = multiline ? starts(with: "\"\"\"") : starts(with: "\"")
        if quoteHere && followed(by: hashes, after: quote) {
            step(quote + hashes, keep: true)
            mode = .code
        } else if hashes == 0 && starts(with: "\\(") {
            interpolation()
        } else if hashes == 0 && starts(with: "\\") {
            step(2, keep: false)
        } else {
            step(1, keep: false)
        }
    }

    private func followed(by hashes: Int, after offset: Int) -> Bool {
        let start = position + offset
        guard start + hashes <= input.count else { return false }
        return input[start..<start + hashes].allSatisfy { $0 == UInt8(ascii: "#") }
    }

    /// Blanks `\( … )`, which may hold strings of its own.
    private mutating func interpolation() {
        step(2, keep: false)
        var depth = 1
        while position < input.count, depth > 0 {
            switch input[position] {
            case UInt8(ascii: "("): depth += 1
            case UInt8(ascii: ")"): depth -= 1
            case UInt8(ascii: "\""):
                step(1, keep: false)
                while position < input.count, input[position] != UInt8(ascii: "\"") {
                    step(input[position] == UInt8(ascii: "\\") ? 2 : 1, keep: false)
                }
            default: break
            }
            step(1, keep: false)
        }
    }
}
