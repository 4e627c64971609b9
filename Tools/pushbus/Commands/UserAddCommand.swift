import Commands
import Contracts
import Topology

/// `pushbus user add`
enum UserAddCommand {
    static let command = Command(
        "user add",
        "Makes an account.",
        positionals: [.init("NAME", "the account's name")],
        options: [
            .value("--role", "ROLE", "admin or member (default member)"),
            .value("--password-file", "FILE", "where the password is (default: standard input)"),
        ] + BusConnection.options,
        notes: """
            The password is the first line of the file or of standard input, 8 to 1024 characters; it is
            never taken from the command line. An account that exists already is left as it is.

            \(ExitCode.help)
            """
    ) { arguments in
        let connection = try BusConnection(arguments)
        let role =
            try arguments.value("--role", "admin or member", Role.init(rawValue:)) ?? .member
        let request = UserAdd(
            username: try arguments.requiredWord("NAME"),
            password: Password(
                try InputFile.password(file: arguments.value("--password-file"))
            ),
            role: role
        )
        do throws(ContractViolation) { try request.checkBounds() } catch {
            throw CommandFailure("\(error)", exitCode: ExitCode.badInput)
        }
        let answer = try await connection.ask(request, of: .registration)
        guard answer.added else {
            throw CommandFailure("\(request.username) exists already; nothing was changed")
        }
        Terminal.standard.line(
            "added \(request.username) (\(role.rawValue)), user \(answer.userID)"
        )
        return ExitCode.success
    }
}
