import Loop

/// Says that there is something to look at; signals that come together count as one.
package final class WakeSignal: Sendable {
    private let channel = BoundedChannel<Bool>(capacity: 1)

    package init() {}

    /// Wakes the one who waits, or the next one to wait.
    package func signal() { _ = channel.trySend(true) }

    /// Returns after a signal, when the time is up, or when the task is cancelled.
    package func wait(atMost limit: Duration, time: any TimeSource) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = await self.channel.next() }
            group.addTask { try? await time.sleep(for: limit) }
            await group.next()
            group.cancelAll()
        }
    }
}
