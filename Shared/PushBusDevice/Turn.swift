/// Lets one task of an actor through at a time. It belongs to one actor and is not Sendable.
final class Turn {
    private var isTaken = false
    private var waiters: [CheckedContinuation<Void, Never>] = []

    /// Returns when nobody else has the turn.
    func take() async {
        while isTaken {
            await withCheckedContinuation { waiters.append($0) }
        }
        isTaken = true
    }

    /// Gives the turn back.
    func give() {
        isTaken = false
        let waiting = waiters
        waiters = []
        for waiter in waiting { waiter.resume() }
    }
}
