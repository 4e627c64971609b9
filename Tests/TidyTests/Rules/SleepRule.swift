/// Tests wait for signals, never for time to pass.
struct SleepRule: TidyRule {
    private static let calls = [
        "Task.sleep", "usleep(", "nanosleep(", "Thread.sleep", "SystemTime().sleep",
    ]

    func breaches(in tree: SourceTree) -> [Breach] {
        tree.files.filter(isTest).flatMap { file in
            file.codeLines.enumerated().compactMap { index, line in
                guard line.has("sleep") else { return nil }
                let python = !file.isSwift && line.has("time.sleep(")
                guard
                    python || Self.calls.contains(where: { line.has($0) }) || plainSleep(line)
                else {
                    return nil
                }
                return Breach(file, index + 1, "a test waits for a signal, it does not sleep")
            }
        }
    }

    /// TestKit and its Python counterparts hold the limits of all waits; benchmarks are no tests.
    private func isTest(_ file: SourceFile) -> Bool {
        let isCode = file.isSwift || (file.path.hasSuffix(".py") && file.path.contains("/test_"))
        return isCode && file.path.hasPrefix("Tests/") && !file.path.hasPrefix("Tests/Support/")
            && !file.path.hasPrefix("Tests/Benchmarks/")
    }

    private func plainSleep(_ line: Substring) -> Bool {
        line.ranges(of: "sleep(").contains { range in
            let before = line[..<range.lowerBound].last
            return before.map { !($0.isLetter || $0 == "_" || $0 == ".") } ?? true
        }
    }
}
