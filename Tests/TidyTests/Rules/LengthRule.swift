/// Files, functions and mains stay short.
struct LengthRule: TidyRule {
    static let maximumFileLines = 400
    static let maximumFunctionLines = 70
    static let maximumMainLines = 40

    func breaches(in tree: SourceTree) -> [Breach] {
        tree.swiftFiles.filter { $0.path != "Package.swift" }.flatMap { file in
            fileBreaches(file) + functionBreaches(file)
        }
    }

    private func fileBreaches(_ file: SourceFile) -> [Breach] {
        let count = file.lines.last?.isEmpty == true ? file.lines.count - 1 : file.lines.count
        if count > Self.maximumFileLines {
            return [Breach(file, 0, "\(count) lines; at most \(Self.maximumFileLines)")]
        }
        let parts = file.path.split(separator: "/")
        if parts.first == "Services", parts.contains("Main"), count >= Self.maximumMainLines {
            return [Breach(file, 0, "\(count) lines; a Main has under \(Self.maximumMainLines)")]
        }
        return []
    }

    private func functionBreaches(_ file: SourceFile) -> [Breach] {
        FunctionSpan.all(in: file).compactMap { span in
            guard span.lines > Self.maximumFunctionLines else { return nil }
            let message = "a function of \(span.lines) lines; at most \(Self.maximumFunctionLines)"
            return Breach(file, span.first, message)
        }
    }
}
