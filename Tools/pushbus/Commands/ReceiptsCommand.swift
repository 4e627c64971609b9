import Commands
import Contracts
import ServiceKit
import Topology

/// `pushbus receipts`
enum ReceiptsCommand {
    static let command = Command(
        "receipts",
        "Lists what became of each notification.",
        options: [
            .value("--event", "UUID", "only of this event"),
            .value("--installation", "ID", "only of this phone"),
            .value(
                "--state",
                "STATE",
                "only in this state: "
                    + ReceiptState.allCases.map(\.rawValue).joined(separator: ", ")
            ),
            .flag("--json", "print one JSON object a line"),
        ] + BusConnection.options,
        notes: """
            Oldest first. "accepted" means that APNs accepted it; whether a phone showed it, nobody
            can tell. A receipt holds no content, key or token.

            \(ExitCode.help)
            """
    ) { arguments in
        let connection = try BusConnection(arguments)
        let query = try query(arguments)
        var table = Table(heads, rightAligned: [5])
        let asJSON = arguments.has("--json")
        try await connection.session { session in
            try await forEach(query, in: session) { receipt in
                if asJSON {
                    Terminal.standard.line(try JSONText.line(receipt))
                } else {
                    table.add(row(receipt))
                }
            }
        }
        if !asJSON { Terminal.standard.out(table.count == 0 ? "no receipts\n" : table.text) }
        return ExitCode.success
    }

    static let heads = [
        "event", "installation", "category", "state", "reason", "attempts", "updated",
    ]

    static func query(_ arguments: Arguments) throws(UsageError) -> ReceiptQuery {
        let event = try arguments.value("--event", "a lowercase UUID") { EventID($0) }
        let state = try arguments.value(
            "--state",
            "one of " + ReceiptState.allCases.map(\.rawValue).joined(separator: ", "),
            ReceiptState.init(rawValue:)
        )
        return ReceiptQuery(
            eventID: event,
            installationID: arguments.value("--installation").map { InstallationID($0) },
            state: state
        )
    }

    static func row(_ receipt: ReceiptQueryAnswer.Receipt) -> [String] {
        [
            receipt.eventID.description, receipt.installationID.text, receipt.category.rawValue,
            receipt.state.rawValue, receipt.reason ?? "-", "\(receipt.attempts)",
            receipt.updatedAt.rfc3339,
        ]
    }

    /// Pages through all receipts.
    static func forEach(
        _ query: ReceiptQuery,
        in session: BusSession,
        _ body: (ReceiptQueryAnswer.Receipt) throws -> Void
    ) async throws {
        var query = query
        repeat {
            let answer = try await session.ask(query, of: .delivery)
            for receipt in answer.receipts { try body(receipt) }
            query.after = answer.next
        } while query.after != nil
    }
}
