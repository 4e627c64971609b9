/// One text file of the repository.
struct SourceFile {
    /// Its path from the root of the repository.
    let path: String
    /// The lines as they are.
    let lines: [Substring]
    /// The lines without comments and string contents; the lines themselves if it is not Swift.
    let codeLines: [Substring]

    init(_ path: String, _ text: String) {
        self.path = path
        lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        codeLines =
            path.hasSuffix(".swift")
            ? SourceText.code(of: text).split(separator: "\n", omittingEmptySubsequences: false)
            : lines
    }

    var isSwift: Bool {
        path.hasSuffix(".swift")
    }

    /// The file name without the folder and `.swift`.
    var stem: Substring {
        let name = path.split(separator: "/").last ?? ""
        return name.hasSuffix(".swift") ? name.dropLast(6) : name
    }

    /// The modules it imports, with their line numbers (from 1).
    var imports: [(module: Substring, line: Int)] {
        codeLines.enumerated().compactMap { index, line in
            guard line.has("import") else { return nil }
            let words = Self.words(line)
            guard let at = words.firstIndex(of: "import"), at + 1 < words.count else { return nil }
            let attributes = words[..<at]
            let modifiers: Set<Substring> = [
                "package", "internal", "private", "fileprivate", "public", "testable",
                "preconcurrency",
            ]
            guard attributes.allSatisfy(modifiers.contains) else { return nil }
            let kinds: Set<Substring> = [
                "struct", "class", "enum", "protocol", "typealias", "func", "let", "var",
            ]
            let module =
                kinds.contains(words[at + 1]) ? words.dropFirst(at + 2).first : words[at + 1]
            return module.map { (module: $0, line: index + 1) }
        }
    }

    /// The names of the types it declares, and of those it extends.
    var types: (declared: Set<Substring>, extended: Set<Substring>) {
        let keywords: Set<Substring> = [
            "struct", "class", "enum", "actor", "protocol", "typealias",
        ]
        var declared: Set<Substring> = []
        var extended: Set<Substring> = []
        let needed = keywords.map(String.init) + ["extension"]
        for line in codeLines where needed.contains(where: { line.has($0) }) {
            let words = Self.words(line)
            for (word, next) in zip(words, words.dropFirst()) {
                if keywords.contains(word) { declared.insert(next) }
                if word == "extension" { extended.formUnion(words.drop { $0 != next }) }
            }
        }
        return (declared, extended)
    }

    /// The identifiers and keywords of a line.
    static func words(_ line: Substring) -> [Substring] {
        line.split { !($0.isLetter || $0.isNumber || $0 == "_") }
    }
}
