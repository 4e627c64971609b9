import Commands
import Glibc

@main
enum PhoneMain {
    static func main() async {
        signal(SIGPIPE, SIG_IGN)
        exit(await PhoneProgram.commands.run(Array(CommandLine.arguments.dropFirst())))
    }
}

/// The headless phone: an app and its notification service extension without a screen.
enum PhoneProgram {
    static let commands = CommandSet(
        program: "phone",
        summary: "A headless phone: signs in, registers, receives, opens, shows, taps.",
        commands: [
            RunCommand.command, LoginCommand.command, LogoutCommand.command,
            RecoverCommand.command, StatusCommand.command, SettingsCommand.command,
            DevicesCommand.command, TestCommand.command, TapCommand.command,
        ]
    )
}
