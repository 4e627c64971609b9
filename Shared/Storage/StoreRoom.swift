import Glibc

/// How much room the disk leaves and how much of it the WAL has taken.
///
/// The WAL can only be given back after its pages have been copied into the file, which may grow by
/// as much. A WAL that has taken the last room could therefore never be emptied again, however much
/// of it is old versions of the same pages.
struct StoreRoom: Hashable, Sendable {
    var freeBytes: Int
    var walBytes: Int

    /// A WAL below this is left alone.
    static let leastBytes = 64 << 10

    /// Whether the WAL has to be emptied now, while the file can still grow by all that it holds.
    var isShort: Bool { walBytes >= Self.leastBytes && walBytes > freeBytes / 2 }

    /// Looks at the disk of a store without opening any of its files; nil when that fails.
    static func measure(storePath: String) -> StoreRoom? {
        var disk = statvfs()
        var wal = stat()
        guard statvfs(storePath, &disk) == 0 else { return nil }
        let (free, overflow) = Int(clamping: disk.f_bavail)
            .multipliedReportingOverflow(by: Int(clamping: disk.f_frsize))
        return StoreRoom(
            freeBytes: overflow ? .max : free,
            walBytes: stat(storePath + "-wal", &wal) == 0 ? Int(wal.st_size) : 0
        )
    }
}
