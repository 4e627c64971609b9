import Loop
import PushBusDevice

/// The phone's network is back when its line to the simulator stands again.
struct LineRecovery: Connectivity {
    private let recoveries = BoundedChannel<Bool>(capacity: 1)

    /// To be called when the line stands again after a break.
    func lineIsBack() { _ = recoveries.trySend(true) }

    func recovered() async -> Bool { await recoveries.next() ?? false }
}
