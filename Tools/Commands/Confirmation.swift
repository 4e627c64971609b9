import Glibc

/// Makes sure that somebody means to destroy something.
package enum Confirmation {
    /// The flag that confirms without a question.
    package static let option = Command.Option.flag("--yes", "do it without a question")

    /// Returns when `--yes` was given, or when a person at the terminal types the word.
    ///
    /// Without either nothing is done: throws a ``UsageError`` where nobody can be asked.
    package static func require(
        _ arguments: Arguments,
        _ consequence: String,
        word: String
    ) throws {
        try require(
            isConfirmed: arguments.has(option.name),
            consequence,
            word: word,
            isTerminal: isatty(STDIN_FILENO) == 1,
            ask: { question in
                Terminal.standard.error(question)
                return readLine()
            }
        )
    }

    static func require(
        isConfirmed: Bool,
        _ consequence: String,
        word: String,
        isTerminal: Bool,
        ask: (String) -> String?
    ) throws {
        guard !isConfirmed else { return }
        guard isTerminal else { throw UsageError("\(consequence): say --yes") }
        guard ask("\(consequence). Type '\(word)' to go on: ") == word else {
            throw CommandFailure("nothing was changed")
        }
    }
}
