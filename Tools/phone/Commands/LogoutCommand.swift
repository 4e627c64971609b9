import Commands
import Contracts
import HTTPClient
import PushBusDevice

/// `phone logout`
enum LogoutCommand {
    static let command = Command(
        "logout",
        "Ends the login on the phone at once, and at the server as soon as that is reached.",
        options: [
            PhoneParts.directoryOption, PhoneParts.languageOption, PhoneParts.jsonOption,
        ],
        notes: """
            Works without a network: the deletion proof of the session takes the place of its
            credentials, and is used at the next start, sign-in or return of the network. Without such
            a proof nothing changes. A running 'phone run' of the same directory goes on and shows the
            generic text.

            \(ExitCode.help)
            """
    ) { arguments in
        let text = TextTable(try PhoneParts.language(arguments))
        let parts = try PhoneParts.existing(arguments)
        defer { parts.client.stop() }
        let end = try await PhoneParts.run { () throws(DeviceError) in
            try await parts.device.signOut()
        }
        let isPending = end == .pending
        PhoneReport(asJSON: arguments.has("--json")).say(
            "signed_out",
            text[isPending ? .signOutPending : .statusSignedOut],
            ["pending": .bool(isPending)]
        )
        return ExitCode.success
    }
}
