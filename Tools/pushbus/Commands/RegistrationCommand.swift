import Commands
import Contracts
import FoundationEssentials
import ServiceKit
import Topology

/// `pushbus registration backup`, `restore` and `renew`
enum RegistrationCommand {
    static let all = [backup, restore, renew]

    static let backup = Command(
        "registration backup",
        "Copies Registration's store to a new file while it goes on working.",
        positionals: [
            .init("FILE", "where the copy goes, on Registration's host; nothing may be there")
        ],
        options: BusConnection.options,
        notes: """
            For a store on SQLite; PostgreSQL has tools of its own (pg_dump). The copy may be read by its
            owner only. Keep the master key file (beside the store, '.key' at its end) apart from it:
            without that key its content keys and one-time codes cannot be opened.

            \(ExitCode.help)
            """
    ) { arguments in
        let connection = try BusConnection(arguments)
        let path = try absolute(arguments.requiredWord("FILE"))
        let answer = try await connection.session { session in
            try await session.ask(
                RegistrationBackup(path: path),
                of: .registration,
                timeout: max(connection.timeout, .seconds(600))
            )
        }
        Terminal.standard.line("copied \(answer.bytes) bytes to \(path)")
        return ExitCode.success
    }

    static let restore = Command(
        "registration restore",
        "Puts a backup in the place of Registration's store, which has to be stopped.",
        positionals: [.init("FILE", "the backup")],
        options: [
            .value("--store", "PATH", "the store (default: registration.sqlite in the directory)"),
            Confirmation.option,
            BusConnection.directoryOption,
        ],
        notes: """
            At its next start Registration ends all sessions, so that none comes back that had been
            signed out or revoked: every phone signs in again. Accounts and preferences are those of the
            backup. The store that was there is kept beside it, with '.before-' and the time at the end.
            Put the master key file of the backup's time back too if the key was replaced since.

            \(ExitCode.help)
            """
    ) { arguments in
        if arguments.value("--store")?.hasPrefix("postgres") == true {
            throw UsageError(
                "a store on PostgreSQL is put back with pg_restore while Registration is stopped; all "
                    + "sessions end at its next start, or by pushbus registration renew"
            )
        }
        let directory = try BusConnection.directory(arguments)
        let store = StoreFile(
            path: absolute(arguments.value("--store") ?? directory + "/registration.sqlite")
        )
        let backup = try absolute(arguments.requiredWord("FILE"))
        try Confirmation.require(
            arguments,
            "the store \(store.path) is replaced, and every phone has to sign in again",
            word: "restore"
        )
        let kept = try store.restore(from: backup, now: SystemTime().wall.second)
        if let kept { Terminal.standard.line("the store that was there is \(kept) now") }
        Terminal.standard.line("restored \(store.path); start Registration")
        return ExitCode.success
    }

    static let renew = Command(
        "registration renew",
        "Ends all sessions, as after restoring a backup.",
        options: [Confirmation.option] + BusConnection.options,
        notes: """
            For a machine that went back to an earlier state as a whole, which Registration cannot notice:
            its sessions and binding numbers may have been used since. Every phone signs in again.

            \(ExitCode.help)
            """
    ) { arguments in
        let connection = try BusConnection(arguments)
        try Confirmation.require(arguments, "every phone has to sign in again", word: "renew")
        let answer = try await connection.ask(RegistrationRenewal(), of: .registration)
        Terminal.standard.line("sessions that ended: \(answer.sessionsEnded)")
        return ExitCode.success
    }

    private static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }
}
