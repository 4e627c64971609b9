/// One scheduled call on a loop; touched on the loop thread only.
// Sendable by proof: every stored property is read and written on the loop thread, which
// `cancel()` checks and `LoopExecutor.schedule` checked before.
package final class LoopTimer: @unchecked Sendable {
    private unowned let loop: LoopExecutor
    let deadline: Int64
    let sequence: UInt64
    private(set) var body: (@Sendable () -> Void)?

    init(
        loop: LoopExecutor,
        deadline: Int64,
        sequence: UInt64,
        body: @escaping @Sendable () -> Void
    ) {
        self.loop = loop
        self.deadline = deadline
        self.sequence = sequence
        self.body = body
    }

    /// Gives the call up and frees its closure; loop thread only, harmless after it ran.
    package func cancel() {
        loop.preconditionCurrent()
        guard body != nil else { return }
        body = nil
        loop.noteCancelledTimer()
    }

    /// Takes the closure out, so that it runs once.
    func take() -> (@Sendable () -> Void)? {
        defer { body = nil }
        return body
    }
}

/// Pending timers, earliest first; a binary heap that sheds cancelled entries when they are many.
struct TimerHeap {
    private var heap: [LoopTimer] = []
    private var cancelled = 0

    /// When the earliest entry is due, in nanoseconds of `loopNow()`.
    var earliest: Int64? {
        heap.first?.deadline
    }

    mutating func insert(_ timer: LoopTimer) {
        heap.append(timer)
        var index = heap.count - 1
        while index > 0 {
            let parent = (index - 1) / 2
            guard before(heap[index], heap[parent]) else { break }
            heap.swapAt(index, parent)
            index = parent
        }
    }

    /// Takes the earliest entry if it is due; it may be a cancelled one.
    mutating func popDue(at now: Int64) -> LoopTimer? {
        guard let first = heap.first, first.deadline <= now else { return nil }
        let last = heap.removeLast()
        if !heap.isEmpty {
            heap[0] = last
            sink(from: 0)
        }
        if first.body == nil { cancelled = max(0, cancelled - 1) }
        return first
    }

    /// Counts a cancelled entry; rebuilds the heap when more than half of it is cancelled.
    mutating func noteCancelled() {
        cancelled += 1
        guard cancelled > 64, cancelled > heap.count / 2 else { return }
        heap.removeAll { $0.body == nil }
        cancelled = 0
        for index in stride(from: heap.count / 2 - 1, through: 0, by: -1) { sink(from: index) }
    }

    var count: Int {
        heap.count
    }

    private mutating func sink(from start: Int) {
        var index = start
        while true {
            var child = 2 * index + 1
            guard child < heap.count else { return }
            if child + 1 < heap.count, before(heap[child + 1], heap[child]) { child += 1 }
            guard before(heap[child], heap[index]) else { return }
            heap.swapAt(child, index)
            index = child
        }
    }

    private func before(_ left: LoopTimer, _ right: LoopTimer) -> Bool {
        (left.deadline, left.sequence) < (right.deadline, right.sequence)
    }
}
