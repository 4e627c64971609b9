/// One thing a program does, with everything `--help` says about it.
package struct Command: Sendable {
    /// A word on the command line that is not an option.
    package struct Positional: Sendable {
        package var name: String
        package var help: String
        package var isOptional: Bool

        package init(_ name: String, _ help: String, isOptional: Bool = false) {
            self.name = name
            self.help = help
            self.isOptional = isOptional
        }
    }

    /// An option that begins with two dashes.
    package struct Option: Sendable {
        package var name: String
        /// What the value is called in the help; nil for a flag without a value.
        package var value: String?
        package var help: String

        /// An option with a value, `--name VALUE` or `--name=VALUE`.
        package static func value(_ name: String, _ value: String, _ help: String) -> Self {
            Self(name: name, value: value, help: help)
        }

        /// An option that is there or not.
        package static func flag(_ name: String, _ help: String) -> Self {
            Self(name: name, value: nil, help: help)
        }
    }

    package typealias Body = @Sendable (Arguments) async throws -> Int32

    /// One word, or two such as `user add`.
    package var name: String
    package var summary: String
    package var positionals: [Positional]
    package var options: [Option]
    /// Paragraphs after the options: examples, exit codes.
    package var notes: String
    package var body: Body

    /// The body returns the exit code; what it throws becomes a message and the code of the error.
    package init(
        _ name: String,
        _ summary: String,
        positionals: [Positional] = [],
        options: [Option] = [],
        notes: String = "",
        body: @escaping Body
    ) {
        self.name = name
        self.summary = summary
        self.positionals = positionals
        self.options = options
        self.notes = notes
        self.body = body
    }

    /// The help page.
    package func help(program: String) -> String {
        var line = "Usage: \(program) \(name)"
        for one in positionals { line += one.isOptional ? " [\(one.name)]" : " \(one.name)" }
        if !options.isEmpty { line += " [options]" }
        var page = "\(summary)\n\n\(line)\n"
        if !positionals.isEmpty {
            page += "\n" + Self.columns(positionals.map { ($0.name, $0.help) })
        }
        let all = options + [.flag("--help", "print this page")]
        page += "\nOptions:\n"
        page += Self.columns(all.map { (Self.left($0), $0.help) })
        if !notes.isEmpty { page += "\n\(notes)\n" }
        return page
    }

    private static func left(_ option: Option) -> String {
        option.value.map { "\(option.name) \($0)" } ?? option.name
    }

    static func columns(_ rows: [(String, String)]) -> String {
        let width = min(rows.map(\.0.count).max() ?? 0, 28)
        return rows.map { left, right in
            let gap = String(repeating: " ", count: max(2, width - left.count + 2))
            let indented = right.split(separator: "\n", omittingEmptySubsequences: false)
                .joined(separator: "\n" + String(repeating: " ", count: width + 4))
            return "  \(left)\(gap)\(indented)\n"
        }.joined()
    }
}
