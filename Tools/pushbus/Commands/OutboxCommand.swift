import Commands
import Contracts
import FoundationEssentials
import ServiceKit
import Topology

/// `pushbus outbox status`, `retry`, `cancel`, `purge`, `backup` and `migrate`
enum OutboxCommand {
    static let all = [status, retry, cancel, purge, backup, migrate]

    private static let selection: [Command.Option] = [
        .value("--event", "UUID", "only rows of this event"),
        .value("--installation", "ID", "only rows of this phone"),
        .flag("--all", "every row; needed when neither of the others is there"),
    ]

    static let status = Command(
        "outbox status",
        "Shows how many rows are in which state, and how old the oldest is.",
        options: [.flag("--json", "print one JSON object")] + BusConnection.options,
        notes: ExitCode.help
    ) { arguments in
        let connection = try BusConnection(arguments)
        let answer = try await connection.ask(OutboxStatus(), of: .delivery)
        if arguments.has("--json") {
            Terminal.standard.line(try JSONText.line(answer))
        } else {
            Terminal.standard.out(text(of: answer, now: SystemTime().wall))
        }
        return ExitCode.success
    }

    /// A row for each state of the outbox.
    static func text(of outbox: OutboxStatusAnswer, now: UnixMilliseconds) -> String {
        var table = Table(["outbox", "rows", "oldest", "age (s)"], rightAligned: [1, 3])
        for count in outbox.states {
            table.add([
                count.state.rawValue, "\(count.rows)", count.oldestAt.map(\.start.rfc3339) ?? "-",
                count.oldestAt.map { "\(max(0, now.second.seconds - $0.seconds))" } ?? "-",
            ])
        }
        return table.text + "clean-ups waiting: \(outbox.cleanupsWaiting)\n"
    }

    static let retry = Command(
        "outbox retry",
        "Makes waiting rows due now.",
        options: selection + BusConnection.options,
        notes: """
            Rows that wait for their next attempt are tried at once, unless their relay or provider is
            paused. Rows that have ended stay as they are, and nothing lives longer.

            \(ExitCode.help)
            """
    ) { arguments in
        let connection = try BusConnection(arguments)
        let rows = try rows(arguments)
        let advanced = try await connection.session { session in
            var advanced: Int64 = 0
            var after: Int64?
            repeat {
                let answer = try await session.ask(OutboxRetry(rows, after: after), of: .delivery)
                advanced += answer.advanced
                after = answer.next
            } while after != nil
            return advanced
        }
        Terminal.standard.line("rows that are due now: \(advanced)")
        return ExitCode.success
    }

    static let cancel = Command(
        "outbox cancel",
        "Ends waiting rows, which are then never sent.",
        options: selection + [Confirmation.option] + BusConnection.options,
        notes: """
            They end as permanent with the reason Cancelled. What is being sent at this moment is left
            alone and counted: run it again for those that come back to wait.

            \(ExitCode.help)
            """
    ) { arguments in
        let connection = try BusConnection(arguments)
        let rows = try rows(arguments)
        try Confirmation.require(
            arguments,
            "the waiting notifications of \(title(of: rows)) will never be sent",
            word: "cancel"
        )
        let (cancelled, held) = try await connection.session { session in
            var cancelled: Int64 = 0
            var held: Int64 = 0
            var after: Int64?
            repeat {
                let answer = try await session.ask(OutboxCancel(rows, after: after), of: .delivery)
                cancelled += answer.cancelled
                held += answer.held
                after = answer.next
            } while after != nil
            return (cancelled, held)
        }
        Terminal.standard.line("cancelled: \(cancelled), being sent and left alone: \(held)")
        return ExitCode.success
    }

    static let purge = Command(
        "outbox purge",
        "Removes receipts of events that ended long ago.",
        options: [
            .value("--older-than", "DAYS", "days since the event ended (default and least: 1)"),
            Confirmation.option,
        ] + BusConnection.options,
        notes: """
            Receipts go by themselves after PUSHBUS_DELIVERY_RETENTION_DAYS. Rows that wait are never
            removed.

            \(ExitCode.help)
            """
    ) { arguments in
        let connection = try BusConnection(arguments)
        let days = try days(arguments)
        try Confirmation.require(
            arguments,
            "receipts of events that ended \(days == 1 ? "a day" : "\(days) days") ago or earlier"
                + " will be gone",
            word: "purge"
        )
        let request = OutboxPurge(olderThanSeconds: days * OutboxPurge.leastSeconds)
        let removed = try await connection.session { session in
            var removed: Int64 = 0
            while true {
                let answer = try await session.ask(request, of: .delivery)
                if answer.removed == 0 { return removed }
                removed += answer.removed
            }
        }
        Terminal.standard.line("removed: \(removed)")
        return ExitCode.success
    }

    static let backup = Command(
        "outbox backup",
        "Copies the outbox to a new file while Delivery goes on working.",
        positionals: [
            .init("FILE", "where the copy goes, on Delivery's host; nothing may be there")
        ],
        options: BusConnection.options,
        notes: """
            For an outbox on SQLite; PostgreSQL has tools of its own (pg_dump). The copy may be read by
            its owner only; it holds sealed notifications that wait, and no token.

            \(ExitCode.help)
            """
    ) { arguments in
        let connection = try BusConnection(arguments)
        let file = try arguments.requiredWord("FILE")
        let path =
            file.hasPrefix("/") ? file : FileManager.default.currentDirectoryPath + "/" + file
        let answer = try await connection.session { session in
            try await session.ask(
                OutboxBackup(path: path),
                of: .delivery,
                timeout: max(connection.timeout, .seconds(600))
            )
        }
        Terminal.standard.line("copied \(answer.bytes) bytes to \(path)")
        return ExitCode.success
    }

    static func days(_ arguments: Arguments) throws(UsageError) -> Int64 {
        try arguments.value("--older-than", "1 to 10000 days") { text in
            Int64(text).flatMap { (1...10_000).contains($0) ? $0 : nil }
        } ?? 1
    }

    /// The rows that the command line means; all of them only when it says so.
    static func rows(_ arguments: Arguments) throws(UsageError) -> OutboxSelection {
        let event = try arguments.value("--event", "a lowercase UUID") { EventID($0) }
        let installation = arguments.value("--installation").map { InstallationID($0) }
        let isNarrow = event != nil || installation != nil
        guard isNarrow != arguments.has("--all") else {
            throw UsageError("name --event, --installation or both, or else say --all")
        }
        return OutboxSelection(eventID: event, installationID: installation)
    }

    private static func title(of rows: OutboxSelection) -> String {
        let parts = [
            rows.eventID.map { "event \($0)" }, rows.installationID.map { "phone \($0.text)" },
        ].compactMap(\.self)
        return parts.isEmpty ? "every event" : parts.joined(separator: " on ")
    }
}
