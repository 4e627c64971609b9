import Commands
import Contracts
import HTTPClient
import PushBusDevice

/// `phone recover`
enum RecoverCommand {
    static let command = Command(
        "recover",
        "Ends a session whose credentials are refused and of which there is no proof.",
        options: [
            PhoneParts.directoryOption,
            .value("--select", "SESSION", "end exactly this session of the list"),
            .flag("--by-token", "end it by the hash of its last refresh token, without an account"),
            PhoneParts.languageOption, PhoneParts.jsonOption,
        ] + SignInChoice.options.filter { $0.name != "--server" },
        notes: """
            Show the account of the session again with --login or --pair: its sessions on this
            installation are listed, and --select ends one. Nothing is chosen for you and nobody is
            signed in. The choice is kept until the server confirms.

            Exit code 0 when the session is over, 1 while it is not.

            \(ExitCode.help)
            """
    ) { arguments in
        let choice = try SignInChoice.method(arguments)
        let text = TextTable(try PhoneParts.language(arguments))
        let parts = try PhoneParts.existing(arguments)
        defer { parts.client.stop() }
        let report = PhoneReport(asJSON: arguments.has("--json"))
        let selected = arguments.value("--select").map { SessionID($0) }
        try await PhoneParts.run { () throws(DeviceError) in
            if arguments.has("--by-token") { return try await parts.device.endLostSession() }
            guard let choice else {
                throw DeviceError(.refused, "show the account with --login or --pair")
            }
            guard let recovery = try await parts.device.openRecovery(choice.method) else { return }
            for session in recovery.sessions { report.show(session) }
            if let selected { try await parts.device.end(selected, in: recovery) }
        }
        let isOver = try await PhoneParts.run { () throws(DeviceError) in
            try await parts.device.state.recoverable == nil
        }
        guard isOver else {
            report.say("recover", text[.recoveryExplanation])
            return ExitCode.failure
        }
        report.say("recovered", text[.recoveryDone])
        return ExitCode.success
    }
}
