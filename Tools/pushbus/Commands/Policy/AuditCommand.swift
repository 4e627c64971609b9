import Commands
import Contracts
import ServiceKit
import Topology

/// `pushbus audit`
enum AuditCommand {
    static let command = Command(
        "audit",
        "Lists who changed rules, windows and integrators, newest first.",
        options: [
            .value("--limit", "COUNT", "at most so many changes, 1 to 512 (default 100)"),
            .flag("--json", "print one JSON object a line"),
        ] + BusConnection.options,
        notes: ExitCode.help
    ) { arguments in
        let limit =
            try arguments.value("--limit", "1 to 512") { text in
                Int(text).flatMap { (1...BusLimits.records).contains($0) ? $0 : nil }
            } ?? 100
        let request = AuditQuery(limit: limit)
        let entries = try await BusConnection(arguments).ask(request, of: .eventIngest).entries
        if arguments.has("--json") {
            for entry in entries { Terminal.standard.line(try JSONText.line(entry)) }
            return ExitCode.success
        }
        var table = Table(["at", "by", "kind", "id", "change"], rightAligned: [])
        for entry in entries { table.add(row(entry)) }
        Terminal.standard.out(table.count == 0 ? "no changes\n" : table.text)
        return ExitCode.success
    }

    static func row(_ entry: AuditQueryAnswer.Entry) -> [String] {
        [
            entry.at.start.rfc3339, entry.by, entry.key.kind.rawValue, entry.key.id,
            entry.item == nil ? "removed" : "put in force",
        ]
    }
}
