/// Whoever switches the compiler's check for data races off says directly above why it holds.
struct ProofRule: TidyRule {
    func breaches(in tree: SourceTree) -> [Breach] {
        tree.swiftFiles.flatMap { file in
            file.codeLines.indices.compactMap { index in
                let line = file.codeLines[index]
                guard line.has("@unchecked Sendable") || line.has("nonisolated(unsafe)")
                else { return nil }
                if hasComment(file, above: index) { return nil }
                return Breach(
                    file,
                    index + 1,
                    "needs a comment directly above that gives the proof"
                )
            }
        }
    }

    /// A comment above the line, or above the first line of the declaration it belongs to.
    private func hasComment(_ file: SourceFile, above index: Int) -> Bool {
        var above = index - 1
        while above >= 0 {
            let text = trimmed(file.lines[above])
            if text.hasPrefix("//") { return true }
            let code = trimmed(file.codeLines[above])
            // Attributes, the head of a declaration that goes on, or a line of the same kind.
            let goesOn =
                text.hasPrefix("@") || code.hasSuffix(":") || code.hasSuffix(",")
                || code.has("nonisolated(unsafe)")
            guard goesOn else { return false }
            above -= 1
        }
        return false
    }

    private func trimmed(_ line: Substring) -> Substring {
        var line = line
        while line.first?.isWhitespace == true { line.removeFirst() }
        while line.last?.isWhitespace == true { line.removeLast() }
        return line
    }
}
