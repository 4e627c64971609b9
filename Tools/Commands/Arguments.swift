/// The words of one command line, checked against what its command takes.
///
/// Strict: an option that the command does not know, a repeated one, a missing or an extra word is
/// a ``UsageError``. Everything after `--` is a word.
package struct Arguments: Sendable {
    private var values: [String: String] = [:]
    private var flags: Set<String> = []
    private var words: [String: String] = [:]

    /// Whether `--help` was asked for; nothing else was checked then.
    package private(set) var wantsHelp = false

    package init(_ arguments: [String], of command: Command) throws(UsageError) {
        var rest = arguments[...]
        var positionals: [String] = []
        var onlyWords = false
        while let word = rest.popFirst() {
            if onlyWords || !word.hasPrefix("-") || word == "-" {
                positionals.append(word)
                continue
            }
            if word == "--" {
                onlyWords = true
                continue
            }
            if word == "--help" || word == "-h" {
                wantsHelp = true
                return
            }
            try take(word, &rest, of: command)
        }
        try assign(positionals, of: command)
    }

    private mutating func take(
        _ word: String,
        _ rest: inout ArraySlice<String>,
        of command: Command
    ) throws(UsageError) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0])
        guard let option = command.options.first(where: { $0.name == name }) else {
            throw UsageError("unknown option \(name)")
        }
        guard values[name] == nil, !flags.contains(name) else {
            throw UsageError("\(name) is given twice")
        }
        guard option.value != nil else {
            guard parts.count == 1 else { throw UsageError("\(name) takes no value") }
            flags.insert(name)
            return
        }
        if parts.count == 2 {
            values[name] = String(parts[1])
        } else if let value = rest.popFirst() {
            guard !value.hasPrefix("--") else {
                throw UsageError("\(name) needs a value; write \(name)=\(value) if it is one")
            }
            values[name] = value
        } else {
            throw UsageError("\(name) needs a value")
        }
    }

    private mutating func assign(
        _ given: [String],
        of command: Command
    ) throws(UsageError) {
        guard given.count <= command.positionals.count else {
            throw UsageError("'\(given[command.positionals.count])' is one word too many")
        }
        for (index, positional) in command.positionals.enumerated() {
            if index < given.count {
                words[positional.name] = given[index]
            } else if !positional.isOptional {
                throw UsageError("\(positional.name) is missing: \(positional.help)")
            }
        }
    }

    /// Whether the flag is there.
    package func has(_ flag: String) -> Bool { flags.contains(flag) }

    /// The value of an option.
    package func value(_ name: String) -> String? { values[name] }

    /// The value of an option that must be there.
    package func required(_ name: String) throws(UsageError) -> String {
        guard let value = values[name] else { throw UsageError("\(name) is missing") }
        return value
    }

    /// The word in that place.
    package func word(_ name: String) -> String? { words[name] }

    /// The word in a place that is not optional.
    package func requiredWord(_ name: String) throws(UsageError) -> String {
        guard let word = words[name] else { throw UsageError("\(name) is missing") }
        return word
    }

    /// The value of an option read by `parse`, which returns nil for what it does not take; the
    /// message says what would be taken.
    package func value<Value>(
        _ name: String,
        _ expected: String,
        _ parse: (String) -> Value?
    ) throws(UsageError) -> Value? {
        guard let text = values[name] else { return nil }
        guard let value = parse(text) else { throw UsageError("\(name) must be \(expected)") }
        return value
    }
}

/// A command line that does not say what to do: exit code 64.
package struct UsageError: Error, Hashable, CustomStringConvertible {
    package var description: String
    package init(_ description: String) { self.description = description }
}
