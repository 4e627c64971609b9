import Commands
import Contracts
import HTTPClient
import PushBusDevice

/// `phone tap`
enum TapCommand {
    static let command = Command(
        "tap",
        "Taps a notification that the phone has shown.",
        positionals: [
            .init("EVENT", "the event's id; without it the tap that waits", isOptional: true)
        ],
        options: [
            PhoneParts.directoryOption,
            .value(
                "--target",
                "ANSWER",
                "what the app's server has: available, newer, gone, forbidden or unreachable\n"
                    + "(default available)"
            ),
            .flag("--dismiss", "forget the tap that waits"),
            PhoneParts.languageOption, PhoneParts.jsonOption,
        ],
        notes: """
            While nobody is signed in the tap waits. Exit code 0 when something is opened, 1 when not,
            69 while the tap waits.

            \(ExitCode.help)
            """
    ) { arguments in
        let text = TextTable(try PhoneParts.language(arguments))
        let answer =
            try arguments.value(
                "--target",
                "available, newer, gone, forbidden or unreachable",
                PhoneSystem.LookupAnswer.init(rawValue:)
            ) ?? .available
        let event = try arguments.word("EVENT").map { word throws(UsageError) in
            guard let event = EventID(word) else {
                throw UsageError("EVENT must be a lowercase UUID")
            }
            return event
        }
        let parts = try PhoneParts.existing(arguments, lookup: answer)
        defer { parts.client.stop() }
        let report = PhoneReport(asJSON: arguments.has("--json"))
        let outcome = try await PhoneParts.run { () throws(DeviceError) in
            if arguments.has("--dismiss") {
                try await parts.device.dismissTap()
                return nil as TapRouting.Outcome?
            }
            if let event { return try await parts.device.tap(event) }
            return try await parts.device.followTap()
        }
        return report.show(outcome, text)
    }
}
