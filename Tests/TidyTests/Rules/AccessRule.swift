/// `package` is the widest access.
struct AccessRule: TidyRule {
    func breaches(in tree: SourceTree) -> [Breach] {
        tree.swiftFiles.filter { $0.path.contains("/") }.flatMap { file in
            file.codeLines.enumerated().compactMap { index, line in
                guard line.has("public") || line.has("open") else { return nil }
                let words = SourceFile.words(line).prefix(3)
                guard words.contains("public") || words.first == "open" && words.contains("class")
                else { return nil }
                return Breach(file, index + 1, "package is the widest access")
            }
        }
    }
}
