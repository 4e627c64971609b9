/// A Core decides: no waiting, no clock, no chance.
struct PurityRule: TidyRule {
    private static let words: Set<Substring> = ["async", "await", "Task", "actor"]
    private static let calls = [
        "Date()", "Date.now", ".random(", "UUID()", "SystemRandomNumberGenerator", ".shuffled()",
        ".randomElement()", "ContinuousClock", "SuspendingClock", "ProcessInfo", "FileManager",
    ]

    func breaches(in tree: SourceTree) -> [Breach] {
        tree.swiftFiles.filter(isCore).flatMap { file in
            file.codeLines.enumerated().compactMap { index, line in
                let word = SourceFile.words(line).first(where: Self.words.contains).map(String.init)
                guard let found = word ?? Self.calls.first(where: { line.has($0) }) else {
                    return nil
                }
                return Breach(file, index + 1, "\(found) has no place in a Core")
            }
        }
    }

    private func isCore(_ file: SourceFile) -> Bool {
        let parts = file.path.split(separator: "/")
        return parts.count > 3 && parts[0] == "Services" && parts[2] == "Core"
    }
}
