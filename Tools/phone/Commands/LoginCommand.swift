import Commands
import Contracts
import HTTPClient
import PushBusDevice

/// `phone login`
enum LoginCommand {
    static let command = Command(
        "login",
        "Signs in and does nothing else; 'phone run' signs in as well.",
        options: [
            PhoneParts.directoryOption,
            .value("--installation", "ID", "the installation's name at the first start"),
            .value("--name", "TEXT", "how the account sees the phone (default: headless phone)"),
            PhoneParts.jsonOption,
        ] + SignInChoice.options,
        notes: """
            What earlier logins left behind is cleaned up first, where their servers are reached. A
            login that is there must be ended with 'phone logout', a lost one with 'phone recover'.

            \(ExitCode.help)
            """
    ) { arguments in
        guard let choice = try SignInChoice.method(arguments) else {
            throw UsageError("give --pair or --login")
        }
        guard let server = choice.server else { throw UsageError("--server is missing") }
        let parts = try PhoneParts(
            directory: try arguments.required("--directory"),
            installation: try PhoneSettings.installation(arguments)
        )
        defer { parts.client.stop() }
        let report = PhoneReport(asJSON: arguments.has("--json"))
        try await PhoneParts.run { () throws(DeviceError) in
            try await parts.device.signIn(
                choice.method,
                at: server,
                deviceName: arguments.value("--name") ?? "headless phone"
            )
            if case .signedIn(let user, _) = try await parts.device.status.account {
                report.say("signed_in", "signed in as \(user)", ["user_id": .string(user.text)])
            }
        }
        return ExitCode.success
    }
}
