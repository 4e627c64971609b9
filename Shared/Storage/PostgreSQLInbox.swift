import ServiceKit

/// A closure that waits for a connection.
struct PostgreSQLCall: Sendable {
    /// Rows it changes, as its caller counts them; nil for one that only reads.
    let rows: Int?
    /// The function that asks for it, for crash points.
    let verb: StaticString
    let enteredAt: MonotonicInstant
    /// Runs the caller's closure and keeps its value; may run again.
    let perform: @Sendable (PostgreSQLConnection) throws -> Void
    /// Ends the call; nil lets it return the kept value.
    let finish: @Sendable ((any Error)?) -> Void
}

/// Where callers leave their closures, and which lanes are idle.
struct PostgreSQLInbox: Sendable {
    /// What a lane does next.
    enum Work: Sendable {
        case write([PostgreSQLCall])
        case read(PostgreSQLCall)
    }

    private var writes: [PostgreSQLCall] = []
    private var reads: [PostgreSQLCall] = []
    private var idle: Set<Int>
    private var active = 0
    private(set) var isClosed = false
    private var whenEmpty: [CheckedContinuation<Void, Never>] = []
    private let options: PostgreSQLOptions
    /// Lanes below this number write.
    private let writers: Int

    init(options: PostgreSQLOptions) {
        self.options = options
        self.writers = options.writers
        self.idle = Set(0..<options.lanes)
    }

    /// Adds a call and returns the idle lane to wake, if there is one. A success is paired with
    /// ``leave()``.
    mutating func enter(_ call: PostgreSQLCall) throws(StorageError) -> Int? {
        guard !isClosed else { throw StorageError(.closed, "the store has been closed") }
        guard active < options.queueLimit else {
            throw StorageError(
                .overloaded,
                "\(options.queueLimit) calls wait for the database; try again later"
            )
        }
        active += 1
        let lane: Int?
        if call.rows != nil {
            writes.append(call)
            lane = idle.filter { $0 < writers }.min()
        } else {
            reads.append(call)
            // A lane that cannot write is the better choice for a read.
            lane = idle.max()
        }
        if let lane { idle.remove(lane) }
        return lane
    }

    /// The next work of a lane, a read first where `prefersRead`; a lane without work is idle.
    mutating func take(for lane: Int, prefersRead: Bool) -> Work? {
        let maySend = lane < writers && !writes.isEmpty
        if !reads.isEmpty && (prefersRead || !maySend) { return .read(reads.removeFirst()) }
        guard maySend else {
            idle.insert(lane)
            return nil
        }
        var end = 0
        var rows = 0
        while end < writes.count, end < options.batchRequests {
            rows += writes[end].rows ?? 0
            if end > 0 && rows > options.batchRows { break }
            end += 1
        }
        defer { writes.removeFirst(end) }
        return .write(Array(writes[..<end]))
    }

    /// Takes out the calls that have waited since before an instant.
    mutating func overdue(since instant: MonotonicInstant) -> [PostgreSQLCall] {
        let late = (writes + reads).filter { $0.enteredAt < instant }
        guard !late.isEmpty else { return [] }
        writes.removeAll { $0.enteredAt < instant }
        reads.removeAll { $0.enteredAt < instant }
        return late
    }

    /// Ends one call; returns who waits for the last of them.
    mutating func leave() -> [CheckedContinuation<Void, Never>] {
        active -= 1
        guard active == 0 else { return [] }
        defer { whenEmpty = [] }
        return whenEmpty
    }

    /// Lets nobody in any more; true for the first call.
    mutating func close() -> Bool {
        defer { isClosed = true }
        return !isClosed
    }

    /// Keeps a continuation for the last ``leave()``; false when no call is active.
    mutating func waitUntilEmpty(_ continuation: CheckedContinuation<Void, Never>) -> Bool {
        guard active > 0 else { return false }
        whenEmpty.append(continuation)
        return true
    }
}

extension PostgreSQLOptions {
    /// Lanes of a database: one connection each.
    var lanes: Int { max(connections, ownership == .exclusive ? 2 : 1) }

    /// How many of them write.
    var writers: Int { ownership == .exclusive ? 1 : lanes }
}
