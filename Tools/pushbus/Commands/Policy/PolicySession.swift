import Commands
import Contracts
import FoundationEssentials
import Glibc
import ServiceKit
import Topology

/// What the commands about the policy have in common.
enum PolicySession {
    /// Options that say which servers something is about.
    static let coverage: [Command.Option] = [
        .value("--include", "SERVERS", "only these servers, ids separated by commas"),
        .value("--exclude", "SERVERS", "all servers but these"),
    ]

    static let audited = """
        Who asked for a change and when is recorded; 'pushbus audit' lists it.

        \(ExitCode.help)
        """

    static func coverage(_ arguments: Arguments) throws(UsageError) -> Coverage {
        switch (arguments.value("--include"), arguments.value("--exclude")) {
        case (nil, nil): return .all
        case (let servers?, nil): return Coverage(.include, list(servers))
        case (nil, let servers?): return Coverage(.exclude, list(servers))
        default: throw UsageError("--include and --exclude do not go together")
        }
    }

    static func list(_ text: String?) -> [String] {
        (text ?? "").split(separator: ",").map(String.init)
    }

    /// The person at the keyboard, as the system knows it.
    static func person() -> String {
        let environment = ProcessInfo.processInfo.environment
        let name = environment["SUDO_USER"] ?? environment["USER"] ?? environment["LOGNAME"]
        guard let name, !name.isEmpty else { return "uid \(getuid())" }
        return name
    }

    /// Puts one item in force and says what that did.
    static func put(_ item: PolicyItem, _ arguments: Arguments) async throws -> Int32 {
        let answer = try await change(PolicyChange(by: person(), put: [item]), arguments)
        let name = item.key?.id ?? ""
        Terminal.standard.line(
            answer.changed == 0 ? "\(name) is as it was" : "\(name) is in force" + cancelled(answer)
        )
        return ExitCode.success
    }

    /// Removes the item that the word ID names.
    static func remove(_ kind: PolicyKind, _ arguments: Arguments) async throws -> Int32 {
        let id = try arguments.requiredWord("ID")
        let request = PolicyChange(by: person(), remove: [PolicyKey(kind, id)])
        let answer = try await change(request, arguments)
        guard answer.changed > 0 else { throw CommandFailure("there is no \(id)") }
        Terminal.standard.line("\(id) is removed" + cancelled(answer))
        return ExitCode.success
    }

    /// The item of that id, nil when there is none.
    static func item(
        _ kind: PolicyKind,
        _ id: String,
        _ arguments: Arguments
    ) async throws -> PolicyItem? {
        try await entries(kind, arguments).first { $0.item.key?.id == id }?.item
    }

    /// Every item of a kind, by id.
    static func entries(
        _ kind: PolicyKind,
        _ arguments: Arguments
    ) async throws -> [PolicyQueryAnswer.Entry] {
        try await BusConnection(arguments).session { session in
            var entries: [PolicyQueryAnswer.Entry] = []
            while true {
                let after = entries.last?.item.key?.id
                let answer = try await session.ask(
                    PolicyQuery(kind: kind, after: after),
                    of: .eventIngest
                )
                entries += answer.entries
                guard answer.more, !answer.entries.isEmpty else { return entries }
            }
        }
    }

    /// Lists the items of a kind, as a table or one JSON object a line.
    static func show(
        _ kind: PolicyKind,
        _ heads: [String],
        _ arguments: Arguments,
        row: (PolicyItem) -> [String]?
    ) async throws -> Int32 {
        let entries = try await entries(kind, arguments)
        if arguments.has("--json") {
            for entry in entries { Terminal.standard.line(try JSONText.line(entry)) }
            return ExitCode.success
        }
        var table = Table(heads + ["changed by", "at"], rightAligned: [])
        for entry in entries {
            guard let cells = row(entry.item) else { continue }
            table.add(cells + [entry.changedBy, entry.changedAt.start.rfc3339])
        }
        Terminal.standard.out(table.count == 0 ? "none\n" : table.text)
        return ExitCode.success
    }

    static func text(_ coverage: Coverage) -> String {
        switch coverage.mode {
        case .all: "all"
        case .include: coverage.servers.joined(separator: ",")
        case .exclude: "all but " + coverage.servers.joined(separator: ",")
        }
    }

    static func change(
        _ change: PolicyChange,
        _ arguments: Arguments
    ) async throws -> PolicyChangeAnswer {
        do throws(ContractViolation) { try change.checkBounds() } catch {
            throw CommandFailure("\(error)", exitCode: ExitCode.badInput)
        }
        return try await BusConnection(arguments).ask(change, of: .eventIngest)
    }

    private static func cancelled(_ answer: PolicyChangeAnswer) -> String {
        answer.cancelled == 0 ? "" : "; \(answer.cancelled) events not yet admitted are cancelled"
    }
}
