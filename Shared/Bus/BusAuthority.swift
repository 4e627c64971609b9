import Contracts
import Glibc
import Loop
import ServiceKit

/// The allow-list in force, exchanged without a restart; asked at each handshake and for each
/// message, so that a revoked key stops at once although its connection stays.
package final class BusAuthority: Sendable {
    private struct State {
        var list: BusAllowList
        var stamp: FileStamp?
    }

    private let path: String?
    private let state: Locked<State>

    /// An authority whose list is replaced by its owner.
    package init(_ list: BusAllowList) {
        path = nil
        state = Locked(State(list: list))
    }

    /// An authority that follows a file; throws when the file cannot be read, has a bad line or
    /// names nobody.
    package init(file path: String) throws(BusConfigurationError) {
        guard let read = FileStamp.read(path) else {
            throw BusConfigurationError("the allow-list \(path) cannot be read; make it first")
        }
        let (list, faults) = BusAllowList.parse(read.text)
        guard faults.isEmpty else {
            throw BusConfigurationError(
                "the allow-list \(path) is wrong: \(faults.joined(separator: "; "))"
            )
        }
        guard !list.isEmpty else {
            throw BusConfigurationError("the allow-list \(path) names nobody; add a principal")
        }
        self.path = path
        state = Locked(State(list: list, stamp: read.stamp))
    }

    /// Puts another list in force.
    package func replace(_ list: BusAllowList) { state.withLock { $0.list = list } }

    /// The principal with this key (Z85), nil when it may not, or no longer, take part.
    package func principal(forKey z85: String) -> BusPrincipal? {
        state.withLock { $0.list.principal(forKey: z85) }
    }

    package var list: BusAllowList { state.withLock { $0.list } }

    /// Reads the file again if it has changed. A bad line admits nobody, a missing file nobody at
    /// all: what cannot be read allows nothing.
    func refresh(log: Log) {
        guard let path else { return }
        let stamp = FileStamp.of(path)
        guard stamp != state.withLock({ $0.stamp }) else { return }
        guard let read = FileStamp.read(path) else {
            log.error("bus allow-list unreadable", ["path": .string(path), "admits": "nobody"])
            state.withLock { $0 = State(list: BusAllowList(), stamp: stamp) }
            return
        }
        let (list, faults) = BusAllowList.parse(read.text)
        for fault in faults {
            log.error("bus allow-list fault", ["path": .string(path), "fault": .string(fault)])
        }
        state.withLock { $0 = State(list: list, stamp: read.stamp) }
        log.info(
            "bus allow-list loaded",
            ["path": .string(path), "principals": .int(list.principals.count)]
        )
    }
}

/// What tells whether a small file has changed.
struct FileStamp: Hashable, Sendable {
    private var inode: UInt64
    private var size: Int64
    private var seconds: Int64
    private var nanoseconds: Int64

    static let maximumBytes = 1 << 20

    private init(_ status: stat) {
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        seconds = Int64(status.st_mtim.tv_sec)
        nanoseconds = Int64(status.st_mtim.tv_nsec)
    }

    static func of(_ path: String) -> FileStamp? {
        var status = stat()
        return stat(path, &status) == 0 ? FileStamp(status) : nil
    }

    /// The text of a file of at most 1 MiB with its stamp; nil when it cannot be read.
    static func read(_ path: String) -> (text: String, stamp: FileStamp)? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_size <= maximumBytes else { return nil }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = Glibc.read(file, &chunk, chunk.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0, bytes.count <= maximumBytes else { return nil }
            if count == 0 { break }
            bytes.append(contentsOf: chunk[..<count])
        }
        return (String(decoding: bytes, as: UTF8.self), FileStamp(status))
    }
}
