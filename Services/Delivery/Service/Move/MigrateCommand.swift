import Contracts
import FoundationEssentials
import Glibc
import ServiceKit
import Storage

/// `pushbus-delivery migrate`: the move of an outbox as a program of its own.
package enum MigrateCommand {
    package static let word = "migrate"

    private static let usage = """
        usage: pushbus-delivery migrate --from sqlite:/path [--to postgresql://user@host/database]

        Moves all rows and receipts of an outbox from an SQLite file to a PostgreSQL database, while no
        pushbus-delivery uses either. Without --to it goes where PUSHBUS_DELIVERY_STORE says, or the file
        that PUSHBUS_DELIVERY_STORE_FILE names, which keeps a password off the command line. When all rows are
        known to be there, the file is emptied. A move that was interrupted is simply begun again.

        Exit codes: 0 moved, 1 not moved (nothing was removed), 64 a bad argument.

        """

    /// Runs with this process's arguments after the word and ends the process.
    package static func run() async -> Never {
        signal(SIGPIPE, SIG_IGN)
        let (code, text) = await outcome(
            Array(CommandLine.arguments.dropFirst(2)),
            ProcessInfo.processInfo.environment
        )
        print(text, terminator: "")
        fflush(nil)
        exit(code)
    }

    /// The exit code and what is printed; apart from `run` so that tests can call it.
    package static func outcome(
        _ arguments: [String],
        _ environment: [String: String]
    ) async -> (code: Int32, text: String) {
        if arguments == ["--help"] || arguments == ["-h"] { return (0, usage) }
        do {
            let (path, url) = try locations(arguments, environment)
            let summary = try await OutboxMove.run(from: path, to: url)
            return (0, text(summary, to: url))
        } catch let error as SettingError {
            return (64, "pushbus-delivery migrate: \(error)\n\n\(usage)")
        } catch {
            return (1, "pushbus-delivery migrate: \(error)\n")
        }
    }

    private static func locations(
        _ arguments: [String],
        _ environment: [String: String]
    ) throws(SettingError) -> (path: String, url: PostgreSQLURL) {
        var values: [String: String] = [:]
        var rest = arguments[...]
        while let option = rest.popFirst() {
            guard ["--from", "--to"].contains(option), values[option] == nil,
                let value = rest.popFirst()
            else { throw SettingError("takes --from and --to, each once and with a value") }
            values[option] = value
        }
        guard let from = values["--from"], case .sqlite(let path) = try StoreLocation(from) else {
            throw SettingError("needs --from sqlite:/absolute/path")
        }
        let to =
            if let text = values["--to"] {
                try StoreLocation(text)
            } else {
                try configured(environment)
            }
        guard case .postgresql(let url) = to else {
            throw SettingError("needs --to postgresql://user@host/database")
        }
        return (path, url)
    }

    private static func configured(
        _ environment: [String: String]
    ) throws(SettingError) -> StoreLocation? {
        let names: Set = ["PUSHBUS_DELIVERY_STORE", "PUSHBUS_DELIVERY_STORE_FILE"]
        let values = environment.filter { names.contains($0.key) }
        guard !values.isEmpty else { return nil }
        var reader = EnvironmentReader(prefix: "PUSHBUS_DELIVERY_", values: values)
        let location = reader.storeLocation(help: "where the outbox is kept")
        do {
            try reader.finish()
        } catch {
            throw SettingError("\(error)")
        }
        return location
    }

    private static func text(_ summary: OutboxMove.Summary, to url: PostgreSQLURL) -> String {
        let states = ReceiptState.allCases.map { "\($0.rawValue) \(summary.rows[$0] ?? 0)" }
        return """
            moved to \(url)
            events: \(summary.events)
            rows: \(summary.total) (\(states.joined(separator: ", ")))
            of these there already: \(summary.known)
            clean-ups: \(summary.cleanups)

            """
    }
}
