import Commands
import Testing

@Suite struct ArgumentsTests {
    private static let command = Command(
        "add",
        "Adds something.",
        positionals: [.init("NAME", "its name"), .init("PLACE", "where", isOptional: true)],
        options: [.value("--role", "ROLE", "its role"), .flag("--json", "as JSON")],
        body: { _ in 0 }
    )

    @Test func bothWaysToWriteAValue() throws {
        for words in [["a", "--role", "x", "--json"], ["--role=x", "--json", "a"]] {
            let arguments = try Arguments(words, of: Self.command)
            #expect(try arguments.requiredWord("NAME") == "a")
            #expect(arguments.word("PLACE") == nil)
            #expect(arguments.value("--role") == "x")
            #expect(arguments.has("--json"))
        }
    }

    @Test func valuesMayHoldEqualSignsAndBeEmpty() throws {
        #expect(try Arguments(["a", "--role=x=y"], of: Self.command).value("--role") == "x=y")
        #expect(try Arguments(["a", "--role="], of: Self.command).value("--role") == "")
    }

    @Test func wordsAfterTwoDashes() throws {
        let arguments = try Arguments(["--", "--role", "-"], of: Self.command)
        #expect(arguments.word("NAME") == "--role")
        #expect(arguments.word("PLACE") == "-")
    }

    @Test(arguments: [
        [], ["a", "b", "c"], ["a", "--rol", "x"], ["a", "--role"], ["a", "--role", "--json"],
        ["a", "--role", "x", "--role", "y"], ["a", "--json", "--json"], ["a", "--json=1"],
        ["a", "-x"],
    ]) func refused(words: [String]) {
        #expect(throws: UsageError.self) { try Arguments(words, of: Self.command) }
    }

    @Test func helpNeedsNothingElse() throws {
        #expect(try Arguments(["--help"], of: Self.command).wantsHelp)
        #expect(try Arguments(["-h"], of: Self.command).wantsHelp)
    }

    @Test func theHelpNamesEveryOption() {
        let page = Self.command.help(program: "tool")
        for text in ["Usage: tool add NAME [PLACE] [options]", "--role ROLE", "--json", "--help"] {
            #expect(page.contains(text))
        }
    }

    @Test func parsedValues() throws {
        let arguments = try Arguments(["a", "--role", "7"], of: Self.command)
        #expect(try arguments.value("--role", "a number", Int.init) == 7)
        #expect(throws: UsageError.self) {
            try arguments.value("--role", "a flag", Bool.init)
        }
    }
}
