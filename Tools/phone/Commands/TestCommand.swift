import Commands
import Contracts
import HTTPClient
import PushBusDevice
import ServiceKit

/// `phone test`
enum TestCommand {
    static let command = Command(
        "test",
        "Asks for a test notification and waits for what becomes of it.",
        options: [
            .value("--directory", "DIR", "where the phone keeps its state"),
            .value("--wait", "SECONDS", "how long to wait for the outcome (default 30)"),
            .flag("--json", "print one JSON object a line"),
        ],
        notes: """
            Exit code 0 when APNs accepted it, 1 for another outcome, 69 when none came in time.
            Whether the phone showed it, the server cannot tell; 'phone run' does.

            \(ExitCode.help)
            """
    ) { arguments in
        let seconds =
            try arguments.value("--wait", "0 to 1800 seconds") { text in
                Int(text).flatMap { (0...1800).contains($0) ? $0 : nil }
            } ?? 30
        let parts = try PhoneParts.existing(arguments)
        defer { parts.client.stop() }
        let report = PhoneReport(asJSON: arguments.has("--json"))
        guard let eventID = EventID(random16: RandomSource.system.bytes(16)) else {
            throw CommandFailure("no random bytes for an event id")
        }
        do throws(DeviceError) {
            let outcome = try await run(parts.device, eventID, seconds: seconds)
            say(outcome, report)
            guard outcome.isFinal else { return ExitCode.unavailable }
            return outcome.outcome == Outcome.accepted.rawValue
                ? ExitCode.success : ExitCode.failure
        } catch {
            throw PhoneParts.failure(error)
        }
    }

    private static func run(
        _ device: PushDevice,
        _ eventID: EventID,
        seconds: Int
    ) async throws(DeviceError) -> PushTestOutcome {
        let time = SystemTime()
        let deadline = time.monotonic.advanced(by: .seconds(seconds))
        let settings = try await device.settings()
        var outcome = try await device.requestTest(eventID, expectedRevision: settings.revision)
        var wait = Duration.milliseconds(100)
        while !outcome.isFinal, time.monotonic.advanced(by: wait) < deadline {
            guard (try? await time.sleep(for: wait)) != nil else { break }
            wait = min(wait * 2, .seconds(2))
            outcome = try await device.testOutcome(eventID)
        }
        return outcome
    }

    private static func say(_ outcome: PushTestOutcome, _ report: PhoneReport) {
        var fields: [String: JSONValue] = [
            "event_id": .string(outcome.eventID.description),
            "outcome": .string(outcome.outcome),
        ]
        if let reason = outcome.reason { fields["reason"] = .string(reason) }
        let reason = outcome.reason.map { " (\($0))" } ?? ""
        report.say("test", "test \(outcome.eventID): \(outcome.outcome)\(reason)", fields)
    }
}
