import Commands
import Contracts
import HTTPClient
import PushBusDevice

/// `phone devices`
enum DevicesCommand {
    static let command = Command(
        "devices",
        "Lists the account's sessions, and ends one.",
        options: [
            PhoneParts.directoryOption,
            .value("--end", "SESSION", "end this session; 'phone logout' ends the phone's own"),
            PhoneParts.jsonOption,
        ],
        notes: ExitCode.help
    ) { arguments in
        let parts = try PhoneParts.existing(arguments)
        defer { parts.client.stop() }
        let report = PhoneReport(asJSON: arguments.has("--json"))
        try await PhoneParts.run { () throws(DeviceError) in
            if let session = arguments.value("--end") {
                try await parts.device.endDevice(SessionID(session))
            }
            for device in try await parts.device.devices() { report.show(device) }
        }
        return ExitCode.success
    }
}
