import Loop
import ServiceKit

/// Wakes one waiting task; rings while nobody waits are remembered as one.
struct Doorbell: Sendable {
    private let channel = BoundedChannel<Void>(capacity: 1)

    func ring() { _ = channel.trySend(()) }

    /// Returns when it rings, after the time, or when the task is cancelled.
    func wait(atMost limit: Duration, time: any TimeSource) async {
        await withTaskGroup { group in
            group.addTask { _ = await channel.next() }
            group.addTask { try? await time.sleep(for: limit) }
            await group.next()
            group.cancelAll()
        }
    }
}
