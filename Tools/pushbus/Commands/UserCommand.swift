import Commands
import Contracts
import ServiceKit
import Topology

/// `pushbus user list`, `role`, `password`, `totp` and `delete`
enum UserCommand {
    private static let name = Command.Positional("NAME", "the account's name")

    static let list = Command(
        "user list",
        "Lists the accounts.",
        options: [.flag("--json", "print one JSON object for each account")]
            + BusConnection.options,
        notes: ExitCode.help
    ) { arguments in
        let connection = try BusConnection(arguments)
        let users = try await connection.session { session in
            var users: [UserListAnswer.User] = []
            var more = true
            while more {
                let page = UserList(after: users.last?.username)
                let answer = try await session.ask(page, of: .registration)
                users += answer.users
                more = answer.more && !answer.users.isEmpty
            }
            return users
        }
        if arguments.has("--json") {
            for user in users { Terminal.standard.line(try JSONText.line(user)) }
            return ExitCode.success
        }
        var table = Table(["NAME", "ROLE", "DEVICES", "CODES", "SINCE", "USER"], rightAligned: [2])
        for user in users {
            table.add([
                user.username, user.role.rawValue, String(user.devices), user.totp ? "yes" : "no",
                user.createdAt.start.rfc3339, user.userID.text,
            ])
        }
        Terminal.standard.out(table.text)
        return ExitCode.success
    }

    static let role = Command(
        "user role",
        "Gives an account another role, from now on.",
        positionals: [name, .init("ROLE", "admin or member")],
        options: BusConnection.options,
        notes: """
            A member receives alerts; an admin may also have security and tasks. What the new role may
            not have stops at once, queued notifications included; what it gains begins now.

            \(ExitCode.help)
            """
    ) { arguments in
        let connection = try BusConnection(arguments)
        guard let role = Role(rawValue: try arguments.requiredWord("ROLE")) else {
            throw UsageError("ROLE must be admin or member")
        }
        let request = UserRoleChange(username: try arguments.requiredWord("NAME"), role: role)
        try check(request)
        let answer = try await connection.ask(request, of: .registration)
        Terminal.standard.line(
            answer.previous == role
                ? "\(request.username) was \(role.rawValue) already"
                : "\(request.username) is \(role.rawValue) now"
        )
        return ExitCode.success
    }

    static let password = Command(
        "user password",
        "Gives an account another password and ends its sessions.",
        positionals: [name],
        options: [
            .value("--password-file", "FILE", "where the password is (default: standard input)")
        ] + BusConnection.options,
        notes: """
            The password is the first line of the file or of standard input, 8 to 1024 characters; it is
            never taken from the command line. Every phone of the account has to sign in again.

            \(ExitCode.help)
            """
    ) { arguments in
        let connection = try BusConnection(arguments)
        let request = UserPasswordChange(
            username: try arguments.requiredWord("NAME"),
            password: Password(
                try InputFile.password(file: arguments.value("--password-file"))
            )
        )
        try check(request)
        let answer = try await connection.ask(request, of: .registration)
        Terminal.standard.line(
            "changed; sessions of \(request.username) that ended: \(answer.sessionsEnded)"
        )
        return ExitCode.success
    }

    static let totp = Command(
        "user totp",
        "Asks an account for a one-time code at sign-in, or no more.",
        positionals: [name, .init("SWITCH", "on or off")],
        options: BusConnection.options,
        notes: """
            'on' makes a new secret and prints it once, as the URI that authenticator apps take.

            \(ExitCode.help)
            """
    ) { arguments in
        let connection = try BusConnection(arguments)
        let words = ["on": true, "off": false]
        guard let enabled = words[try arguments.requiredWord("SWITCH")] else {
            throw UsageError("SWITCH must be on or off")
        }
        let request = UserTOTPChange(
            username: try arguments.requiredWord("NAME"),
            enabled: enabled
        )
        try check(request)
        let answer = try await connection.ask(request, of: .registration)
        Terminal.standard.line(
            answer.uri?.text ?? "\(request.username) signs in without one-time codes now"
        )
        return ExitCode.success
    }

    static let delete = Command(
        "user delete",
        "Deletes an account with its sessions and registrations.",
        positionals: [name],
        options: [Confirmation.option] + BusConnection.options,
        notes: """
            Nothing is sent to its phones any more, from now on and from what is queued. The name is
            free afterwards.

            \(ExitCode.help)
            """
    ) { arguments in
        let connection = try BusConnection(arguments)
        let request = UserDelete(username: try arguments.requiredWord("NAME"))
        try check(request)
        try Confirmation.require(
            arguments,
            "the account \(request.username) will be gone with its sessions and registrations",
            word: "delete"
        )
        let answer = try await connection.ask(request, of: .registration)
        Terminal.standard.line(
            "deleted \(request.username); sessions that ended: \(answer.sessionsEnded)"
        )
        return ExitCode.success
    }

    private static func check(_ message: some BusMessage) throws(CommandFailure) {
        do throws(ContractViolation) { try message.checkBounds() } catch {
            throw CommandFailure("\(error)", exitCode: ExitCode.badInput)
        }
    }
}
