import CSQLite

extension SQLiteConnection {
    /// Sets what durability and erasure depend on, and reads every value back.
    ///
    /// EXCLUSIVE comes first, so that WAL mode keeps its index in memory and no second connection can
    /// join (SQLite up to 3.51.2 can lose a commit when two connections checkpoint).
    func configure(_ options: SQLiteOptions) throws {
        sqlite3_busy_timeout(handle, 0)
        try set("locking_mode", "EXCLUSIVE", expecting: .text("exclusive"))
        try set("journal_mode", "WAL", expecting: .text("wal"))
        try set("synchronous", "FULL", expecting: 2)
        try set("mmap_size", "0", expecting: 0)
        try set("secure_delete", "ON", expecting: 1)
        try set("foreign_keys", "ON", expecting: 1)
        try set("trusted_schema", "OFF", expecting: 0)
        try set("cell_size_check", "ON", expecting: 1)
        try set("temp_store", "MEMORY", expecting: 2)
        let cache = Int64(options.cacheKibibytes)
        try set("cache_size", "-\(cache)", expecting: .int(-cache))
        let pages = options.checkpointPages
        try set("wal_autocheckpoint", "\(pages)", expecting: .int(pages))
        let limit = Int64(options.walLimitBytes)
        try set("journal_size_limit", "\(limit)", expecting: .int(limit))
        if let pages = options.maximumPages {
            try set("max_page_count", "\(pages)", expecting: .int(pages))
        }
    }

    /// The value of a pragma, nil when this build of SQLite does not know it.
    package func pragma(_ name: String) throws -> SQLValue? {
        try SQLiteStatement("PRAGMA \(name)", in: handle).first { $0[0] }
    }

    private func set(_ name: String, _ value: String, expecting expected: SQLValue) throws {
        try script("PRAGMA \(name) = \(value)")
        let actual = try pragma(name) ?? expected
        guard actual == expected else {
            throw StorageError(
                .misuse,
                "PRAGMA \(name) did not take the value \(value); this build of SQLite cannot be used"
            )
        }
    }

    /// Throws `corrupt` unless SQLite finds the file sound.
    func quickCheck() throws {
        let findings = try SQLiteStatement("PRAGMA quick_check(1)", in: handle).query { $0.text(0) }
        guard findings == ["ok"] else {
            throw StorageError(
                .corrupt,
                "the file failed its check after an unclean stop; nothing was deleted. Move it away and "
                    + "restore a backup",
                extendedCode: SQLITE_CORRUPT
            )
        }
    }

    /// Copies the WAL into the file and empties it; true when nothing is left in it.
    func truncateWAL() throws(StorageError) -> Bool {
        var framesLeft: Int32 = 0
        var framesCopied: Int32 = 0
        let code = sqlite3_wal_checkpoint_v2(
            handle,
            nil,
            SQLITE_CHECKPOINT_TRUNCATE,
            &framesLeft,
            &framesCopied
        )
        if code & 0xFF == SQLITE_BUSY { return false }
        guard code == SQLITE_OK else { throw .sqlite(code, during: "checkpoint the WAL") }
        return framesLeft == 0
    }
}
