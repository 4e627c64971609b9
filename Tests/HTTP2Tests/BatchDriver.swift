import HTTP2
import Loop

/// Sends a number of requests through the batch interface, keeping the connection full, and sends
/// again what was provably not processed.
final class BatchDriver: Sendable {
    struct Tally: Sendable {
        var responses = 0
        var refused = 0
        var ambiguous = 0
        var started = 0
        var tags: Set<UInt64> = []
        var duplicates = 0
    }

    private let connection: HTTP2ClientConnection
    private let total: Int
    private let timeout: Duration
    private let bodyBytes: Int
    private let state = Locked(Tally())

    init(
        _ connection: HTTP2ClientConnection,
        total: Int,
        timeout: Duration = .seconds(30),
        bodyBytes: Int = 100
    ) {
        self.connection = connection
        self.total = total
        self.timeout = timeout
        self.bodyBytes = bodyBytes
    }

    func run() async -> Tally {
        await withCheckedContinuation { continuation in
            connection.loop.executor.execute { self.start { continuation.resume(returning: $0) } }
        }
    }

    private func start(_ done: @escaping @Sendable (Tally) -> Void) {
        connection.onOutcomes = { [self] completions in
            let finished: Tally? = state.withLock { tally in
                for completion in completions {
                    switch completion.outcome {
                    case .response:
                        tally.responses += 1
                        if !tally.tags.insert(completion.tag).inserted { tally.duplicates += 1 }
                    case .notSent:
                        tally.refused += 1
                        tally.started -= 1
                    case .ambiguous: tally.ambiguous += 1
                    }
                }
                return tally.responses + tally.ambiguous == total ? tally : nil
            }
            if let finished {
                connection.onChange = nil
                done(finished)
            } else {
                submitMore()
            }
        }
        connection.onChange = { [self] in submitMore() }
        submitMore()
    }

    private func submitMore() {
        while connection.capacity > 0 {
            let tag: UInt64? = state.withLock { tally in
                guard tally.started < total else { return nil }
                tally.started += 1
                return UInt64(tally.started + tally.refused)
            }
            guard let tag else { return }
            let refusal = connection.submit(
                .push(bytes: bodyBytes),
                tag: tag,
                timeout: timeout
            )
            if refusal != nil { state.withLock { $0.started -= 1 } }
        }
    }
}
