import Commands
import Loop
import Testing

@Suite struct CommandSetTests {
    private struct Odd: Error {}

    private static let set = CommandSet(
        program: "tool",
        summary: "Does things.",
        commands: [
            Command("keys", "Makes keys.", body: { _ in 0 }),
            Command("user add", "Adds.", positionals: [.init("NAME", "its name")]) { _ in 7 },
            Command("fail", "Fails.") { _ in
                throw CommandFailure("nobody is there", exitCode: ExitCode.unavailable)
            },
            Command("odd", "Fails oddly.") { _ in throw Odd() },
        ]
    )

    private func run(_ words: [String]) async -> (code: Int32, out: String, errors: String) {
        let out = Locked("")
        let errors = Locked("")
        let code = await Self.set.run(
            words,
            terminal: Terminal(
                output: { text in out.withLock { $0 += text } },
                errors: { text in errors.withLock { $0 += text } }
            )
        )
        return (code, out.withLock { $0 }, errors.withLock { $0 })
    }

    @Test func commandsOfOneAndTwoWords() async {
        #expect(await run(["keys"]).code == 0)
        #expect(await run(["user", "add", "x"]).code == 7)
    }

    @Test(arguments: [[], ["user"], ["nonsense"], ["user", "add"], ["keys", "--no"]])
    func badCommandLinesEndWith64(words: [String]) async {
        let result = await run(words)
        #expect(result.code == ExitCode.usage)
        #expect(result.out.isEmpty)
        #expect(!result.errors.isEmpty)
    }

    @Test(arguments: [
        ["--help"], ["help"], ["keys", "--help"], ["user", "add", "-h"], ["--version"],
    ])
    func helpGoesToTheOutput(words: [String]) async {
        let result = await run(words)
        #expect(result.code == 0)
        #expect(!result.out.isEmpty)
        #expect(result.errors.isEmpty)
    }

    @Test func aFirstWordAloneListsItsCommands() async {
        let help = await run(["user", "--help"])
        #expect(help.code == 0)
        #expect(help.out.contains("user add"))
        #expect(!help.out.contains("keys"))
        #expect(await run(["user", "remove"]).errors.contains("user add"))
    }

    @Test func failuresSayWhatHappened() async {
        let failed = await run(["fail"])
        #expect(failed.code == ExitCode.unavailable)
        #expect(failed.errors == "tool fail: nobody is there\n")
        #expect(await run(["odd"]).code == ExitCode.failure)
    }
}
