/// The receiving end is closed: the element was not taken.
package struct ChannelFinished: Error, CustomStringConvertible {
    package init() {}

    package var description: String {
        "the channel is finished and takes nothing any more"
    }
}

/// A queue between tasks that holds at most `capacity` elements and makes senders wait.
///
/// Any number of senders and receivers; first come, first served. An element whose `send` returned
/// is received by somebody or still in the channel, whatever is cancelled.
package final class BoundedChannel<Element: Sendable>: Sendable {
    private typealias Sending = CheckedContinuation<Void, any Error>
    private typealias Receiving = CheckedContinuation<[Element], Never>

    private struct Sender {
        let id: UInt64
        let element: Element
        let continuation: Sending
    }

    private struct Receiver {
        let id: UInt64
        let continuation: Receiving
    }

    private enum Answer {
        case taken(Receiving?)
        case waiting
        case finished
        case cancelled
    }

    private struct State {
        var buffer: [Element] = []
        /// Index of the first element still in the buffer.
        var head = 0
        var senders: [Sender] = []
        var receivers: [Receiver] = []
        var finished = false
        var nextID: UInt64 = 0

        var count: Int { buffer.count - head }
    }

    /// How many elements fit before a sender waits.
    package let capacity: Int
    private let state = Locked(State())

    /// Makes an empty channel of at least one place.
    package init(capacity: Int) {
        precondition(capacity > 0, "a channel needs room for one element")
        self.capacity = capacity
    }

    /// How many elements wait to be received.
    package var count: Int {
        state.withLock { $0.count }
    }

    /// Puts an element in, waiting while the channel is full.
    ///
    /// Throws `ChannelFinished` when the channel ends first and `CancellationError` when the task
    /// is cancelled first; in both cases the element was not taken.
    package func send(_ element: Element) async throws {
        let id = newID()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: Sending) in
                offer(Sender(id: id, element: element, continuation: continuation))
            }
        } onCancel: {
            let waiting = state.withLock { state -> Sending? in
                guard let index = state.senders.firstIndex(where: { $0.id == id }) else {
                    return nil
                }
                return state.senders.remove(at: index).continuation
            }
            waiting?.resume(throwing: CancellationError())
        }
    }

    /// Puts an element in if there is room; false when the channel is full or finished.
    package func trySend(_ element: Element) -> Bool {
        let (taken, receiver) = state.withLock { accept(element, in: &$0) }
        receiver?.resume(returning: [element])
        return taken
    }

    /// The next element, or nil when the channel is finished and empty or the task is cancelled.
    package func next() async -> Element? {
        await nextBatch(max: 1).first
    }

    /// Between one and `max` elements, as soon as there is one.
    ///
    /// Empty when the channel is finished and empty, or when the task is cancelled while waiting.
    package func nextBatch(max limit: Int) async -> [Element] {
        precondition(limit > 0, "a batch holds at least one element")
        let id = newID()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: Receiving) in
                receive(id: id, limit: limit, continuation)
            }
        } onCancel: {
            let waiting = state.withLock { state -> Receiving? in
                guard let index = state.receivers.firstIndex(where: { $0.id == id }) else {
                    return nil
                }
                return state.receivers.remove(at: index).continuation
            }
            waiting?.resume(returning: [])
        }
    }

    /// Ends the channel: what is in it can still be received, waiting senders are turned away.
    package func finish() {
        let (senders, receivers) = state.withLock { state in
            state.finished = true
            defer {
                state.senders = []
                state.receivers = []
            }
            return (state.senders, state.receivers)
        }
        for sender in senders { sender.continuation.resume(throwing: ChannelFinished()) }
        for receiver in receivers { receiver.continuation.resume(returning: []) }
    }

    private func newID() -> UInt64 {
        state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
    }

    /// Takes the element, or leaves the sender in the queue, or turns it away.
    private func offer(_ sender: Sender) {
        let answer = state.withLock { state -> Answer in
            // See StopSignal.wait: cancelled before registering is noticed here, later by onCancel.
            if Task.isCancelled { return .cancelled }
            if state.finished { return .finished }
            let (taken, receiver) = accept(sender.element, in: &state)
            if taken { return .taken(receiver) }
            state.senders.append(sender)
            return .waiting
        }
        switch answer {
        case .taken(let receiver):
            receiver?.resume(returning: [sender.element])
            sender.continuation.resume()
        case .waiting: break
        case .finished: sender.continuation.resume(throwing: ChannelFinished())
        case .cancelled: sender.continuation.resume(throwing: CancellationError())
        }
    }

    /// Puts the element into the buffer or names the receiver that gets it.
    private func accept(_ element: Element, in state: inout State) -> (Bool, Receiving?) {
        if state.finished { return (false, nil) }
        if !state.receivers.isEmpty { return (true, state.receivers.removeFirst().continuation) }
        guard state.count < capacity else { return (false, nil) }
        state.buffer.append(element)
        return (true, nil)
    }

    private func receive(id: UInt64, limit: Int, _ continuation: Receiving) {
        let (batch, senders) = state.withLock { state -> ([Element]?, [Sender]) in
            if state.count == 0 {
                if state.finished || Task.isCancelled { return ([], []) }
                state.receivers.append(Receiver(id: id, continuation: continuation))
                return (nil, [])
            }
            return (take(limit, from: &state), refill(&state))
        }
        for sender in senders { sender.continuation.resume() }
        if let batch { continuation.resume(returning: batch) }
    }

    private func take(_ limit: Int, from state: inout State) -> [Element] {
        let end = min(state.head + limit, state.buffer.count)
        let batch = Array(state.buffer[state.head..<end])
        state.head = end
        if state.head == state.buffer.count {
            state.buffer.removeAll(keepingCapacity: true)
            state.head = 0
        } else if state.head >= capacity {
            state.buffer.removeFirst(state.head)
            state.head = 0
        }
        return batch
    }

    /// Moves waiting senders' elements into the room that was made.
    private func refill(_ state: inout State) -> [Sender] {
        let room = min(capacity - state.count, state.senders.count)
        guard room > 0 else { return [] }
        let moved = Array(state.senders.prefix(room))
        state.senders.removeFirst(room)
        state.buffer.append(contentsOf: moved.map(\.element))
        return moved
    }
}
