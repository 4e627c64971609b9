import Commands
import Contracts
import FoundationEssentials
import ServiceKit

/// `pushbus maintenance …`
enum MaintenanceCommand {
    static let all = [add, list, remove]

    static let add = Command(
        "maintenance add",
        "Adds a maintenance window, or puts another in its place.",
        positionals: [.init("ID", "names the window")],
        options: [
            .value("--name", "NAME", "what people read (default: the id)"),
            .flag("--disabled", "it suppresses nothing"),
            .value("--from", "TIME", "RFC 3339 such as 2026-01-31T12:00:00Z; weekly: HH:MM"),
            .value("--until", "TIME", "its end; weekly, unless later than --from, of the next day"),
            .value("--weekly", "DAYS", "begin on these days: mon,tue,wed,thu,fri,sat,sun"),
            .value("--zone", "ZONE", "whose clock a weekly window follows, such as Europe/Berlin"),
        ] + PolicySession.coverage + BusConnection.options,
        notes: """
            Triggers and detections inside the window notify nobody; recoveries of alerts that
            notified do.

            Examples:
              pushbus maintenance add move --from 2026-01-31T12:00:00Z --until 2026-01-31T14:00:00Z
              pushbus maintenance add night --weekly sat,sun --from 23:00 --until 05:00 \\
                  --zone Europe/Berlin --include web-1,web-2

            \(PolicySession.audited)
            """
    ) { arguments in
        try await PolicySession.put(PolicyItem(try window(arguments)), arguments)
    }

    static func window(_ arguments: Arguments) throws(UsageError) -> MaintenanceWindow {
        let id = try arguments.requiredWord("ID")
        var window = MaintenanceWindow(
            id: id,
            name: arguments.value("--name") ?? id,
            isEnabled: !arguments.has("--disabled"),
            coverage: try PolicySession.coverage(arguments)
        )
        let (from, until) = (try arguments.required("--from"), try arguments.required("--until"))
        guard let days = arguments.value("--weekly") else {
            if arguments.value("--zone") != nil {
                throw UsageError("--zone belongs to --weekly; a single window has its offset")
            }
            guard let begin = instant(from), let end = instant(until) else {
                throw UsageError("--from and --until must be RFC 3339 times with an offset")
            }
            window.once = .init(from: begin, until: end)
            return window
        }
        guard let begin = WallTime(from), let end = WallTime(until) else {
            throw UsageError("--from and --until must be HH:MM for a weekly window")
        }
        let weekdays = PolicySession.list(days).map(Weekday.init(rawValue:))
        guard !weekdays.isEmpty, !weekdays.contains(nil) else {
            throw UsageError("--weekly must be days such as mon,tue")
        }
        window.weekly = .init(
            zone: try arguments.required("--zone"),
            days: weekdays.compactMap(\.self),
            from: begin,
            until: end
        )
        return window
    }

    private static func instant(_ text: String) -> UnixSeconds? {
        guard let date = try? Date(text, strategy: .iso8601) else { return nil }
        return UnixSeconds(Int64(date.timeIntervalSince1970.rounded(.down)))
    }

    static let list = Command(
        "maintenance list",
        "Lists the maintenance windows.",
        options: [.flag("--json", "print one JSON object a line")] + BusConnection.options,
        notes: ExitCode.help
    ) { arguments in
        let heads = ["id", "name", "enabled", "servers", "when"]
        return try await PolicySession.show(.maintenance, heads, arguments) { item in
            item.maintenance.map { window in
                [
                    window.id, window.name, window.isEnabled ? "yes" : "no",
                    PolicySession.text(window.coverage), when(window),
                ]
            }
        }
    }

    static func when(_ window: MaintenanceWindow) -> String {
        if let once = window.once {
            return "\(once.from.start.rfc3339) to \(once.until.start.rfc3339)"
        }
        guard let weekly = window.weekly else { return "-" }
        let days = weekly.days.map(\.rawValue).joined(separator: ",")
        return "\(days) \(weekly.from) to \(weekly.until) \(weekly.zone)"
    }

    static let remove = Command(
        "maintenance remove",
        "Removes a maintenance window.",
        positionals: [.init("ID", "its id")],
        options: BusConnection.options,
        notes: PolicySession.audited
    ) { arguments in
        try await PolicySession.remove(.maintenance, arguments)
    }
}
