/// What a process's connections to a database have done since it was opened.
package struct PostgreSQLStatistics: Hashable, Sendable {
    /// Transactions that were committed.
    package var commits = 0
    /// Writes that those transactions contained.
    package var writes = 0
    /// Transactions that were run again after a deadlock, a conflict or a lost connection.
    package var retries = 0
    /// Batches that were lost as a whole and run again one write at a time.
    package var splitBatches = 0
    /// Connections that were made, the first ones included.
    package var connects = 0
    /// Attempts to connect that failed.
    package var failedConnects = 0
    /// Commits of which nobody knows whether they happened.
    package var unknownOutcomes = 0
}
