import Testing

@testable import Commands

@Suite struct ConfirmationTests {
    private func require(
        isConfirmed: Bool = false,
        isTerminal: Bool = true,
        typed: String? = nil
    ) throws -> [String] {
        var questions: [String] = []
        try Confirmation.require(
            isConfirmed: isConfirmed,
            "it will be gone",
            word: "purge",
            isTerminal: isTerminal
        ) { question in
            questions.append(question)
            return typed
        }
        return questions
    }

    @Test func theFlagOrTheTypedWordConfirms() throws {
        #expect(try require(isConfirmed: true, isTerminal: false).isEmpty)
        #expect(try require(typed: "purge") == ["it will be gone. Type 'purge' to go on: "])
    }

    @Test(arguments: [nil, "", "y", "yes", "Purge", "purge "])
    func anythingElseChangesNothing(typed: String?) {
        #expect(throws: CommandFailure("nothing was changed")) { try require(typed: typed) }
    }

    @Test func withoutATerminalTheFlagIsNeeded() {
        #expect(throws: UsageError("it will be gone: say --yes")) {
            try require(isTerminal: false, typed: "purge")
        }
    }
}
