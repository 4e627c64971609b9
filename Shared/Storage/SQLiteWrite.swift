/// A write that waits for its turn in a batch.
struct SQLiteWrite: Sendable {
    /// Counts all writes of a store in their order.
    let ticket: UInt64
    /// The store's verb, for crash points.
    let verb: StaticString
    /// Rows it touches, as its caller counts them.
    let rows: Int
    /// Runs the caller's closure and keeps its value; may run again if the batch around it was lost.
    let perform: @Sendable (SQLiteConnection) throws -> Void
    /// Replaces the kept value by an error.
    let fail: @Sendable (any Error) -> Void
}

/// Where callers leave their writes, in the order in which the owner takes them.
struct SQLiteInbox: Sendable {
    private var waiting: [SQLiteWrite] = []
    private var head = 0
    private var lastTicket: UInt64 = 0
    /// Reads and writes that were let in and have not yet returned.
    private(set) var active = 0
    private(set) var isClosed = false
    private let limit: Int
    private var whenEmpty: [CheckedContinuation<Void, Never>] = []

    init(limit: Int) { self.limit = limit }

    /// Lets one call in; every success is paired with ``leave()``.
    mutating func enter() throws(StorageError) {
        guard !isClosed else { throw StorageError(.closed, "the store has been closed") }
        guard active < limit else {
            throw StorageError(.overloaded, "\(limit) calls wait for the store; try again later")
        }
        active += 1
    }

    /// Adds a write and returns its ticket.
    mutating func append(
        verb: StaticString,
        rows: Int,
        perform: @escaping @Sendable (SQLiteConnection) throws -> Void,
        fail: @escaping @Sendable (any Error) -> Void
    ) -> UInt64 {
        lastTicket += 1
        waiting.append(
            SQLiteWrite(
                ticket: lastTicket,
                verb: verb,
                rows: rows,
                perform: perform,
                fail: fail
            )
        )
        return lastTicket
    }

    /// The next batch: at least one write if any waits, then more up to both limits.
    mutating func takeBatch(requests: Int, rows: Int) -> [SQLiteWrite] {
        var end = head
        var rowCount = 0
        while end < waiting.count, end - head < requests {
            rowCount += waiting[end].rows
            if end > head && rowCount > rows { break }
            end += 1
        }
        let batch = Array(waiting[head..<end])
        head = end
        if head == waiting.count {
            waiting.removeAll(keepingCapacity: true)
            head = 0
        } else if head > 1024 {
            waiting.removeFirst(head)
            head = 0
        }
        return batch
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
