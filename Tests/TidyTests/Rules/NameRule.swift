/// A file is named after a type in it, and no name says nothing.
struct NameRule: TidyRule {
    private static let banned = [
        "Utils", "Util", "Utilities", "Helper", "Helpers", "Manager", "Misc",
    ]

    func breaches(in tree: SourceTree) -> [Breach] {
        tree.swiftFiles.filter { $0.path.contains("/") }.flatMap { file -> [Breach] in
            let (declared, extended) = file.types
            let parts = file.stem.split(separator: "+", maxSplits: 1)
            let type = parts.first ?? ""
            var breaches: [Breach] = []
            if parts.count == 2, !extended.contains(type), !declared.contains(type) {
                breaches.append(Breach(file, 0, "extends no type \(type)"))
            } else if parts.count < 2, !declared.contains(type), !declaresFunction(type, file) {
                breaches.append(Breach(file, 0, "declares no type \(type)"))
            }
            for name in declared.union([type]).sorted() {
                if let word = Self.banned.first(where: { name.hasSuffix($0) }) {
                    breaches.append(Breach(file, 0, "\(name): \(word) says nothing"))
                }
            }
            return breaches
        }
    }

    /// A file of free functions is named after the first words of one of them.
    private func declaresFunction(_ name: Substring, _ file: SourceFile) -> Bool {
        guard let first = name.first else { return false }
        let start = first.lowercased() + name.dropFirst()
        return file.codeLines.contains { line in
            line.has("func \(start)") && line.first?.isWhitespace == false
        }
    }
}
