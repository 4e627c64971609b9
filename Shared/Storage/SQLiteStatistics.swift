/// What a store has done since it was opened.
package struct SQLiteStatistics: Hashable, Sendable {
    /// Transactions that were committed.
    package var commits = 0
    /// Writes that those transactions contained.
    package var writes = 0
    /// Batches that were lost as a whole and run again one write at a time.
    package var splitBatches = 0
    /// Checkpoints that emptied the WAL.
    package var checkpoints = 0
    /// Checkpoints that failed or left something in the WAL; they are tried again.
    package var failedCheckpoints = 0
    /// Whether quick_check ran at open because the last stop was unclean.
    package var checkedAtOpen = false
}
