/// Limits of one process's connections to a PostgreSQL database.
package struct PostgreSQLOptions: Sendable {
    /// Who writes to the schema.
    package enum Ownership: Sendable {
        /// This process alone: one connection writes, and it holds an advisory lock while it lives.
        case exclusive
        /// Any number of processes: statements lock what they change.
        case shared
    }

    /// The schema that holds the tables; several services may share a database.
    package var schema: String
    package var ownership: Ownership
    /// Shown in `pg_stat_activity`.
    package var applicationName = "pushbus"
    /// Connections at most.
    package var connections = 4
    /// How long a statement may run; the client gives up a little later by itself, since a stopped
    /// server does not answer.
    package var statementTimeout: Duration = .seconds(10)
    /// How long a statement may wait for a lock.
    package var lockTimeout: Duration = .seconds(5)
    /// How long an opening store waits for its former owner's session to end.
    package var ownerTimeout: Duration = .seconds(3)
    /// After which the server ends a session that holds a transaction open and does nothing.
    package var idleInTransactionTimeout: Duration = .seconds(30)
    /// How long a COMMIT may take: synchronous replicas are part of it, and giving up early leaves its
    /// outcome unknown.
    package var commitTimeout: Duration = .seconds(60)
    package var connectTimeout: Duration = .seconds(5)
    /// How long a call waits for a connection before it is refused as `overloaded`.
    package var waitLimit: Duration = .seconds(10)
    /// Calls that may wait or run; one more is refused as `overloaded`.
    package var queueLimit = 4096
    /// Requests that share one COMMIT.
    package var batchRequests = 256
    /// Rows, as the callers count them, that share one COMMIT.
    package var batchRows = 2048
    /// Times that a transaction is run again after a deadlock or a conflict.
    package var retries = 5
    /// Further settings of the session, such as `enable_seqscan`.
    package var session: [String: String] = [:]

    package init(schema: String, ownership: Ownership) {
        self.schema = schema
        self.ownership = ownership
    }
}
