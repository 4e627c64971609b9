import Commands
import HTTPClient
import PushBusDevice

/// `phone logout`
enum LogoutCommand {
    static let command = Command(
        "logout",
        "Ends the login at the server and removes session and keys from the phone.",
        options: [
            .value("--directory", "DIR", "where the phone keeps its state"),
            .flag("--json", "print one JSON object a line"),
        ],
        notes: """
            When the server is not reached the login stays, so that it can be ended later. A running
            'phone run' of the same directory goes on and shows the generic text.

            \(ExitCode.help)
            """
    ) { arguments in
        let parts = try PhoneParts.signedIn(arguments)
        defer { parts.client.stop() }
        do throws(DeviceError) {
            try await parts.device.signOut()
        } catch {
            throw PhoneParts.failure(error)
        }
        PhoneReport(asJSON: arguments.has("--json")).say("signed_out", "signed out")
        return ExitCode.success
    }
}
