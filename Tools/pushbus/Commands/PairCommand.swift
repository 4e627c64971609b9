import Commands
import Contracts
import ServiceKit
import Topology

/// `pushbus pair`
enum PairCommand {
    static let command = Command(
        "pair",
        "Makes a pairing code, which signs a phone in once.",
        positionals: [.init("USER", "the account's name")],
        options: [.flag("--json", "print one JSON object")] + BusConnection.options,
        notes: """
            Enter server and code on the phone. The code works once and for five minutes; whoever has
            it can sign in as the account.

            \(ExitCode.help)
            """
    ) { arguments in
        let connection = try BusConnection(arguments)
        let user = try arguments.requiredWord("USER")
        let answer = try await connection.ask(
            PairingCreate(username: user),
            of: .registration
        )
        if arguments.has("--json") {
            Terminal.standard.line(try JSONText.line(answer))
        } else {
            Terminal.standard.out(
                """
                server  \(answer.serverURL)
                code    \(answer.code.text)
                until   \(answer.expiresAt.start.rfc3339)

                """
            )
        }
        return ExitCode.success
    }
}
