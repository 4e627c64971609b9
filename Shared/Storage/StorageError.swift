/// Why a store could not do what was asked.
///
/// The text says what to do and never contains an argument of a statement.
package struct StorageError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What happened, as far as a caller can act on it.
    package struct Kind: Hashable, Sendable, CustomStringConvertible {
        private enum Code: String {
            case busy, full, readOnly, corrupt, alreadyRunning, constraint, cannotOpen, inputOutput
            case newerSchema, foreignSchema, overloaded, closed, misuse, other
            case connectionLost, outcomeUnknown, unsupported
        }
        private let code: Code
        private init(_ code: Code) { self.code = code }

        /// Another connection holds the lock; try again.
        package static let busy = Kind(.busy)
        /// The disk, or the size limit of the file, leaves no room; try again later.
        package static let full = Kind(.full)
        /// The file or its folder cannot be written.
        package static let readOnly = Kind(.readOnly)
        /// The file is not a database, or it is damaged; nothing was deleted.
        package static let corrupt = Kind(.corrupt)
        /// Another process owns this store.
        package static let alreadyRunning = Kind(.alreadyRunning)
        /// A UNIQUE, CHECK, NOT NULL or foreign key rule refused the change.
        package static let constraint = Kind(.constraint)
        /// The file or its folder is not there or not accessible.
        package static let cannotOpen = Kind(.cannotOpen)
        /// The operating system reported a read or write error.
        package static let inputOutput = Kind(.inputOutput)
        /// The file was written by a newer version of this program.
        package static let newerSchema = Kind(.newerSchema)
        /// The file belongs to another store or to another line of migrations.
        package static let foreignSchema = Kind(.foreignSchema)
        /// The bounded queue before the store is full; try again later.
        package static let overloaded = Kind(.overloaded)
        /// The store has been closed.
        package static let closed = Kind(.closed)
        /// There is no connection to the database server; nothing was changed. Try again later.
        package static let connectionLost = Kind(.connectionLost)
        /// The connection was lost during a COMMIT, which may or may not have happened; doing the same
        /// again is safe for every verb of a store.
        package static let outcomeUnknown = Kind(.outcomeUnknown)
        /// This kind of store does not do that; the message says what does.
        package static let unsupported = Kind(.unsupported)
        /// The program used the store wrongly.
        package static let misuse = Kind(.misuse)
        /// Any other failure; see ``StorageError/extendedCode``.
        package static let other = Kind(.other)

        package var description: String { code.rawValue }
    }

    package let kind: Kind
    /// What happened and what to do about it.
    package let message: String
    /// SQLite's extended result code (sqlite.org/rescode.html), 0 where SQLite was not asked.
    package let extendedCode: Int32
    /// PostgreSQL's code (postgresql.org/docs/15/errcodes-appendix.html), empty where there is none.
    package let sqlState: String

    package init(
        _ kind: Kind,
        _ message: String,
        extendedCode: Int32 = 0,
        sqlState: String = ""
    ) {
        self.kind = kind
        self.message = message
        self.extendedCode = extendedCode
        self.sqlState = sqlState
    }

    /// The same error, with the store's file or database in its text.
    func naming(_ path: String) -> StorageError {
        message.contains(path)
            ? self
            : StorageError(
                kind,
                "\(path): \(message)",
                extendedCode: extendedCode,
                sqlState: sqlState
            )
    }

    /// Whether the same call can succeed later without anybody repairing the store first.
    package var isRetriable: Bool {
        [
            .busy, .full, .overloaded, .inputOutput, .readOnly, .connectionLost, .outcomeUnknown,
        ].contains(kind)
    }

    /// Whether the process should stop: going on could lose or spread damage.
    package var isFatal: Bool {
        [.corrupt, .newerSchema, .foreignSchema, .alreadyRunning].contains(kind)
    }

    package var description: String {
        let code =
            if extendedCode != 0 {
                " (SQLite code \(extendedCode))"
            } else if !sqlState.isEmpty {
                " (SQLSTATE \(sqlState))"
            } else {
                ""
            }
        return "store \(kind): \(message)\(code)"
    }
}
