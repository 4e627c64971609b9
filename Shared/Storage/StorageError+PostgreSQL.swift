extension StorageError {
    /// The error for an SQLSTATE that the server returned (postgresql.org/docs/15/errcodes-appendix.html).
    ///
    /// The server's text is left out where it may quote values; for class 42 it speaks of the
    /// statement only, which is a fault of the program.
    static func postgreSQL(
        _ sqlState: String,
        message: String,
        constraint: String?,
        during action: String
    ) -> StorageError {
        let (kind, advice) = classify(sqlState)
        var text = "\(action): \(advice)"
        if let constraint { text += " (\(constraint))" }
        if sqlState.hasPrefix("42") { text += " (\(message))" }
        return StorageError(kind, text, sqlState: sqlState)
    }

    /// What a store closure throws to have its transaction run again from the start.
    package static func conflict(_ message: String) -> StorageError {
        StorageError(.busy, message, sqlState: "40001")
    }

    /// Whether the transaction only has to be run again.
    var isConflict: Bool {
        ["40001", "40P01"].contains(sqlState) || isStaleStatement
    }

    /// Whether a prepared statement no longer fits, since another process migrated the schema or a
    /// proxy changed the session.
    var isStaleStatement: Bool { ["0A000", "26000"].contains(sqlState) }

    private static func classify(_ sqlState: String) -> (Kind, String) {
        if let exact = byState[sqlState] { return exact }
        return switch sqlState.prefix(2) {
        case "08", "57":
            (.connectionLost, "the server ended the connection; it is made again by itself")
        case "23": (.constraint, "a rule of the schema refused the change")
        case "28": (.cannotOpen, "the server refused user or password; check the database URL")
        case "40": (.busy, "transactions were in each other's way; try again")
        case "53": (.overloaded, "the server is short of memory or connections; try again later")
        case "58": (.inputOutput, "the server's system reported an error; check its disk and log")
        case "XX": (.inputOutput, "the server reported an internal error; check its log")
        case "22", "42", "0A", "25", "26":
            (.misuse, "the statement does not fit the schema; this is a fault of the program")
        default: (.other, "the server refused; see its log")
        }
    }

    private static let byState: [String: (Kind, String)] = [
        "25006": (
            .readOnly, "the server takes no changes; it may be a standby or set to read only"
        ),
        "42501": (
            .readOnly, "the database user may not do this; grant it the rights on the schema"
        ),
        "25P03": (.connectionLost, "the server ended a transaction that stood idle"),
        "53100": (.full, "no room left on the server's disk; free some space"),
        "53400": (.full, "a limit of the server is reached; raise it or free some space"),
        "55P03": (.busy, "another transaction held a lock for too long; try again"),
        "57014": (.busy, "the statement took longer than it may; try again"),
        "3D000": (.cannotOpen, "there is no database of that name; create it first"),
        "XX001": (.corrupt, "the server found damaged data; nothing was deleted. Restore a backup"),
        "XX002": (.corrupt, "the server found a damaged index; run REINDEX or restore a backup"),
    ]
}
