/// Limits of one SQLite store.
package struct SQLiteOptions: Sendable {
    /// Writes and reads that may wait for the store's thread; one more is refused as `overloaded`.
    package var queueLimit = 4096
    /// Requests that share one COMMIT.
    package var batchRequests = 256
    /// Rows, as the callers count them, that share one COMMIT; bounds its duration.
    package var batchRows = 2048
    /// Page cache in KiB.
    package var cacheKibibytes = 8192
    /// Pages in the WAL from which a commit copies them into the file.
    package var checkpointPages = 4000
    /// Size in bytes to which a reset WAL is cut.
    package var walLimitBytes = 16 << 20
    /// How often the WAL is emptied while there were writes; bounds how long erased bytes survive in it.
    package var checkpointInterval: Duration = .seconds(3)
    /// Size limit of the file in pages of 4096 bytes.
    package var maximumPages: Int?

    /// How room is measured; tests put small disks in its place.
    var measureRoom: @Sendable (String) -> StoreRoom? = { StoreRoom.measure(storePath: $0) }

    package init() {}
}
