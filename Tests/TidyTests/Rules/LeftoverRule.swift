/// Nothing unfinished stays behind, and nothing of the machine it was written on.
struct LeftoverRule: TidyRule {
    // Put together here so that this file does not break its own rule.
    private static let marks = [
        "TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK", "Scaf" + "fold",
    ]
    private static let texts = ["place" + "holder text", "not yet " + "implemented", "/wo" + "rk/"]

    func breaches(in tree: SourceTree) -> [Breach] {
        tree.files.flatMap { file -> [Breach] in
            let inName = Self.marks.filter { file.stem.contains($0) }
                .map { Breach(file, 0, "a leftover: \($0)") }
            return inName
                + file.lines.enumerated().compactMap { index, line in
                    guard let found = found(in: line) else { return nil }
                    return Breach(file, index + 1, "a leftover: \(found)")
                }
        }
    }

    private func found(in line: Substring) -> String? {
        if let text = Self.texts.first(where: { line.has($0) }) { return text }
        guard Self.marks.contains(where: { line.has($0) }) else { return nil }
        let words = SourceFile.words(line)
        return Self.marks.first { mark in
            words.contains { $0 == mark || $0.hasSuffix(Self.marks[4]) }
        }
    }
}
