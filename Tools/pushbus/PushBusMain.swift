import Commands
import Glibc
import ServiceKit

@main
enum PushBusMain {
    static func main() async {
        signal(SIGPIPE, SIG_IGN)
        exit(await PushBusProgram.commands.run(Array(CommandLine.arguments.dropFirst())))
    }
}

/// The operator's command line: everything over the bus, no store is opened.
enum PushBusProgram {
    static let commands = CommandSet(
        program: "pushbus",
        summary: "Runs and looks after a PushBus: events in, encrypted notifications out.",
        commands: RuleCommand.all + MaintenanceCommand.all + IntegratorCommand.all
            + OutboxCommand.all + RegistrationCommand.all + [
                UpCommand.command,
                JoinCommand.command,
                DemoCommand.command,
                UserAddCommand.command,
                UserCommand.list,
                UserCommand.role,
                UserCommand.password,
                UserCommand.totp,
                UserCommand.delete,
                PairCommand.command,
                PublishCommand.command,
                StatusCommand.command,
                ReceiptsCommand.command,
                ExplainCommand.command,
                AuditCommand.command,
                KeysCommand.make,
                KeysCommand.show,
                KeysCommand.rotateMaster,
                EnvelopeCommand.seal,
                EnvelopeCommand.open,
            ],
        notes: """
            Commands that talk to a running PushBus find it by --directory, or by the variable
            PUSHBUS_DIRECTORY, or in ~/.pushbus.

            \(ExitCode.help)
            """
    )
}
