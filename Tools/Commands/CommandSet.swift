import ServiceKit

/// A program made of commands.
package struct CommandSet: Sendable {
    package var program: String
    package var summary: String
    package var commands: [Command]
    package var notes: String

    package init(
        program: String,
        summary: String,
        commands: [Command],
        notes: String = ExitCode.help
    ) {
        self.program = program
        self.summary = summary
        self.commands = commands
        self.notes = notes
    }

    /// The page that lists the commands.
    package var help: String {
        let list = Command.columns(commands.map { ($0.name, $0.summary) })
        return """
            \(summary)

            Usage: \(program) COMMAND [--help] …

            Commands:
            \(list)
            \(notes)

            """
    }

    /// Runs the command that the words name and returns the exit code. Results go to `terminal`'s
    /// output, everything else to its errors.
    @concurrent
    package func run(_ arguments: [String], terminal: Terminal = .standard) async -> Int32 {
        switch arguments.first {
        case nil:
            terminal.error(help)
            return ExitCode.usage
        case "--help", "-h", "help":
            terminal.out(help)
            return ExitCode.success
        case "--version":
            terminal.out("\(program) \(ProcessMain.version)\n")
            return ExitCode.success
        default: break
        }
        guard let (command, rest) = find(arguments) else {
            if let code = group(arguments, terminal) { return code }
            terminal.error(
                "\(program): unknown command '\(arguments[0])'; '\(program) --help' lists them\n"
            )
            return ExitCode.usage
        }
        do {
            let parsed = try Arguments(rest, of: command)
            if parsed.wantsHelp {
                terminal.out(command.help(program: program))
                return ExitCode.success
            }
            return try await command.body(parsed)
        } catch let error as UsageError {
            terminal.error(
                "\(program) \(command.name): \(error)\n"
                    + "'\(program) \(command.name) --help' says what it takes\n"
            )
            return ExitCode.usage
        } catch let failure as CommandFailure {
            terminal.error("\(program) \(command.name): \(failure)\n")
            return failure.exitCode
        } catch {
            terminal.error("\(program) \(command.name): \(error)\n")
            return ExitCode.failure
        }
    }

    /// Lists the commands that begin with the first word; nil when there are none.
    private func group(_ arguments: [String], _ terminal: Terminal) -> Int32? {
        let members = commands.filter { $0.name.hasPrefix("\(arguments[0]) ") }
        guard !members.isEmpty else { return nil }
        let list = "Commands:\n\(Command.columns(members.map { ($0.name, $0.summary) }))"
        if arguments.count == 2, ["--help", "-h"].contains(arguments[1]) {
            terminal.out(list)
            return ExitCode.success
        }
        terminal.error("\(program) \(arguments[0]): say which\n\(list)")
        return ExitCode.usage
    }

    /// The command whose one or two words come first, the longer name before the shorter.
    private func find(_ arguments: [String]) -> (Command, [String])? {
        for length in [2, 1] where arguments.count >= length {
            let name = arguments.prefix(length).joined(separator: " ")
            if let command = commands.first(where: { $0.name == name }) {
                return (command, Array(arguments.dropFirst(length)))
            }
        }
        return nil
    }
}
