import Commands
import Contracts
import HTTPClient
import PushBusDevice

/// `phone settings`
enum SettingsCommand {
    static let command = Command(
        "settings",
        "Shows and changes what is to be received.",
        options: [
            PhoneParts.directoryOption,
            .value(
                "--enable",
                "LIST",
                "switch on exactly these: alerts,security,task_failure,task_success"
            ),
            .flag("--disable", "switch notifications off"),
            .flag("--retry", "try again what failed"),
            .value("--permission", "STATUS", "granted or denied, as in the system's settings"),
            PhoneParts.languageOption, PhoneParts.jsonOption,
        ],
        notes: """
            Switching on shows the disclosure first. Choices that the server does not take are kept
            with their error until a save succeeds.

            Exit code 0 when the server has what was chosen, 1 or 69 when it has not.

            \(ExitCode.help)
            """
    ) { arguments in
        let language = try PhoneParts.language(arguments)
        let enable = try arguments.value("--enable").map(PhoneSettings.categories)
        let choice =
            enable.map { PreferenceChanges(PushPreferences(enabling: $0)) }
            ?? (arguments.has("--disable") ? PreferenceChanges(enabled: false) : nil)
        let permission = try arguments.value("--permission", "granted or denied") { text in
            text == "not_asked" ? nil : PermissionStatus(rawValue: text)
        }
        let parts = try PhoneParts.existing(arguments)
        defer { parts.client.stop() }
        let device = parts.device
        let report = PhoneReport(asJSON: arguments.has("--json"))
        if let permission { try parts.system.set(permission) }
        return try await PhoneParts.run { () throws(DeviceError) in
            var trouble: DeviceError?
            do throws(DeviceError) {
                if enable != nil {
                    report.disclose(language)
                    try await device.disclosureShown()
                }
                if let choice {
                    try await device.choose(choice)
                } else if arguments.has("--retry") {
                    try await device.retry()
                } else {
                    trouble = try await device.reconcile(.foreground)
                }
            } catch {
                trouble = error
            }
            if let trouble { report.trouble(trouble) }
            let status = try await device.status
            report.show(status, language)
            // A registration that is still to come is shown, and is no failed save.
            if status.unconfirmed == nil, status.contactTrouble == nil,
                choice.map({ isConfirmed($0, status) }) ?? true
            {
                return ExitCode.success
            }
            return trouble?.isRetriable == true ? ExitCode.unavailable : ExitCode.failure
        }
    }

    /// Whether the server has what was chosen.
    private static func isConfirmed(_ choice: PreferenceChanges, _ status: DeviceStatus) -> Bool {
        guard let now = status.confirmed?.preferences else { return false }
        return choice.applied(to: now) == now
    }
}
