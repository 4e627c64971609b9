import CSQLite

extension StorageError {
    /// The error for a result code that SQLite returned while doing `action`.
    ///
    /// The library's own message is left out: for constraint failures it names columns only, but for
    /// syntax errors it quotes the statement.
    static func sqlite(_ extendedCode: Int32, during action: String) -> StorageError {
        let (kind, advice) = classify(extendedCode)
        return StorageError(kind, "\(action): \(advice)", extendedCode: extendedCode)
    }

    private static func classify(_ extendedCode: Int32) -> (Kind, String) {
        switch extendedCode & 0xFF {
        case SQLITE_BUSY, SQLITE_LOCKED:
            (.busy, "another connection holds the file; stop the other process")
        case SQLITE_FULL:
            (.full, "no room left on the disk or under the size limit; free some space")
        case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH:
            (.readOnly, "the file or its folder cannot be written; check mode, owner and mount")
        case SQLITE_CORRUPT, SQLITE_NOTADB:
            (
                .corrupt,
                "the file is damaged or no database; nothing was deleted. Move it away and restore a backup"
            )
        case SQLITE_CONSTRAINT:
            (.constraint, "a rule of the schema refused the change")
        case SQLITE_CANTOPEN:
            (
                .cannotOpen,
                "the file cannot be opened; check that its folder exists and is accessible"
            )
        case SQLITE_IOERR:
            (.inputOutput, "the system reported a read or write error; check the disk")
        case SQLITE_MISUSE, SQLITE_RANGE, SQLITE_ERROR, SQLITE_SCHEMA, SQLITE_MISMATCH:
            (.misuse, "the statement does not fit the schema; this is a fault of the program")
        default:
            (.other, "SQLite refused; see the result code")
        }
    }
}
