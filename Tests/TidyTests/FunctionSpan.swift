/// Where a function begins and ends.
struct FunctionSpan: Equatable {
    /// The line of `func`, `init` or `deinit`, from 1.
    let first: Int
    /// The line of the closing brace.
    let last: Int

    var lines: Int {
        last - first + 1
    }

    /// Every function with a body.
    static func all(in file: SourceFile) -> [FunctionSpan] {
        file.codeLines.indices.compactMap { index in
            guard let column = start(in: file.codeLines[index]) else { return nil }
            return end(in: file, line: index, column: column).map { last in
                FunctionSpan(first: index + 1, last: last + 1)
            }
        }
    }

    /// The offset of the declaration in the line, if one begins there.
    private static func start(in line: Substring) -> Int? {
        let modifiers: Set<Substring> = [
            "package", "private", "fileprivate", "internal", "static", "mutating", "nonisolated",
            "override", "consuming", "borrowing", "convenience", "isolated", "final", "nonsending",
            "concurrent", "discardableResult", "Test", "inlinable", "inline", "always", "Sendable",
            "MainActor",
        ]
        guard line.has("func") || line.has("init") else { return nil }
        for word in SourceFile.words(line) {
            if word == "func" || word == "init" || word == "deinit" {
                return line.utf8.distance(from: line.startIndex, to: word.startIndex)
            }
            if !modifiers.contains(word) { return nil }
        }
        return nil
    }

    /// The line on which the body's closing brace stands; nil for a requirement without a body.
    private static func end(in file: SourceFile, line: Int, column: Int) -> Int? {
        var parentheses = 0
        var braces = 0
        var seenBody = false
        for index in line..<file.codeLines.count {
            var bytes = Substring(file.codeLines[index]).utf8
            if index == line { bytes = bytes.dropFirst(column) }
            for byte in bytes {
                switch byte {
                case UInt8(ascii: "("), UInt8(ascii: "["): parentheses += 1
                case UInt8(ascii: ")"), UInt8(ascii: "]"): parentheses -= 1
                case UInt8(ascii: "{") where seenBody || parentheses == 0:
                    seenBody = true
                    braces += 1
                case UInt8(ascii: "}") where seenBody:
                    braces -= 1
                    if braces == 0 { return index }
                case UInt8(ascii: "}") where parentheses == 0: return nil
                default: break
                }
            }
            if !seenBody, parentheses == 0, index + 1 < file.codeLines.count,
                !goesOn(file.codeLines[index + 1])
            {
                return nil
            }
        }
        return nil
    }

    /// Whether a line continues the head of a function.
    private static func goesOn(_ line: Substring) -> Bool {
        let text = line.drop(while: \.isWhitespace)
        return ["{", "->", "throws", "async", "where", ")", "rethrows"].contains {
            text.hasPrefix($0)
        }
    }
}
