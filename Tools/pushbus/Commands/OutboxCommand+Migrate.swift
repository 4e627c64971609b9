import Commands
import FoundationEssentials
import Glibc
import Topology

extension OutboxCommand {
    /// The command line opens no store: Delivery's own program does the work in its place.
    static let migrate = Command(
        "outbox migrate",
        "Moves an outbox from SQLite to PostgreSQL while Delivery is stopped.",
        options: [
            .value("--from", "STORE", "sqlite:/absolute/path of the outbox as it is"),
            .value(
                "--to",
                "STORE",
                "postgresql://user@host/database (default: PUSHBUS_DELIVERY_STORE or its _FILE)"
            ),
        ],
        notes: """
            Waiting rows, receipts and clean-ups are copied and counted, then the file is emptied, so that
            nothing can be sent from both. A move that was interrupted is simply begun again. It refuses
            while a Delivery uses the file or the database. A password belongs into
            PUSHBUS_DELIVERY_STORE_FILE, since others can see a command line.

            \(ExitCode.help)
            """
    ) { arguments in
        var words = ["migrate"]
        for option in ["--from", "--to"] {
            if let value = arguments.value(option) { words += [option, value] }
        }
        let program = try Topology.folderOfThisProgram() + "/pushbus-delivery"
        let copies = ([program] + words).map { strdup($0) } + [nil]
        execv(program, copies)
        let reason = String(cString: strerror(errno))
        for copy in copies { free(copy) }
        throw TopologyError("\(program) cannot be started: \(reason)")
    }
}
