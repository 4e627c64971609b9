import Commands
import Contracts
import HTTPClient
import PushBusDevice

/// `phone status`
enum StatusCommand {
    static let command = Command(
        "status",
        "Looks after everything as at a launch, and says how things are.",
        options: [
            PhoneParts.directoryOption,
            .flag("--offline", "ask nobody: say what the phone knows"),
            PhoneParts.languageOption, PhoneParts.jsonOption,
        ],
        notes: """
            Looking after: clean-up of ended logins, the deletion proof, settings and registration.

            \(ExitCode.help)
            """
    ) { arguments in
        let language = try PhoneParts.language(arguments)
        let parts = try PhoneParts.existing(arguments)
        defer { parts.client.stop() }
        let report = PhoneReport(asJSON: arguments.has("--json"))
        try await PhoneParts.run { () throws(DeviceError) in
            if !arguments.has("--offline"), let trouble = try await parts.device.reconcile(.launch)
            {
                report.trouble(trouble)
            }
            report.show(try await parts.device.status, language)
        }
        return ExitCode.success
    }
}
