/// Threads, queues, unmanaged references and loose tasks stay in the shared modules.
struct ThreadRule: TidyRule {
    func breaches(in tree: SourceTree) -> [Breach] {
        tree.swiftFiles.filter { !$0.path.hasPrefix("Shared/") && !$0.path.hasPrefix("Tests/") }
            .flatMap { file in
                file.codeLines.enumerated().compactMap { index, line in
                    found(in: line).map {
                        Breach(file, index + 1, "\($0) belongs in a shared module")
                    }
                }
            }
    }

    private static let marks = ["pthread_", "Unmanaged", "Dispatch", "Task"]

    private func found(in line: Substring) -> String? {
        guard Self.marks.contains(where: { line.has($0) }) else { return nil }
        let words = SourceFile.words(line)
        if let word = words.first(where: { $0.hasPrefix("pthread_") }) { return String(word) }
        for word in ["Unmanaged", "DispatchQueue", "DispatchSource"]
        where words.contains(Substring(word)) {
            return word
        }
        // `Task { … }`, `Task<…>`, `Task(priority:)` and `Task.detached` start one;
        // `Task.sleep` and the like do not.
        for range in line.ranges(of: "Task") {
            let before = line[..<range.lowerBound].last
            if let before, before.isLetter || before.isNumber || before == "_" { continue }
            let after = line[range.upperBound...].drop { $0 == " " }
            if after.hasPrefix("{") || after.hasPrefix("(") || after.hasPrefix(".detached")
                || after.hasPrefix(".immediate")
            {
                return "an unstructured task"
            }
        }
        return nil
    }
}
