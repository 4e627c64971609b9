import Loop
import PushBusDevice

/// A device's storage in memory, which can be made to fail or to die at any write.
final class MemoryStore: DeviceStore {
    struct Broken: Error {}

    /// What happens at a certain write.
    enum Accident: Sendable, CaseIterable {
        /// It fails, and everything works again afterwards.
        case failure
        /// The process dies before it is done; nothing works until it is started again.
        case deathBefore
        /// The process dies right after it is done.
        case deathAfter
    }

    private struct State {
        var items: [DeviceItem: [UInt8]] = [:]
        var broken: Set<DeviceItem> = []
        var writes = 0
        var accident: (write: Int, kind: Accident)?
        var isDead = false
    }

    private let state = Locked(State())

    func read(_ item: DeviceItem) throws -> [UInt8]? {
        try state.withLock { state in
            if state.isDead || state.broken.contains(item) { throw Broken() }
            return state.items[item]
        }
    }

    func write(_ bytes: [UInt8]?, _ item: DeviceItem) throws {
        try state.withLock { state in
            if state.isDead || state.broken.contains(item) { throw Broken() }
            state.writes += 1
            let accident = state.accident?.write == state.writes ? state.accident?.kind : nil
            if accident == .failure { throw Broken() }
            state.isDead = accident != nil
            if accident == .deathBefore { throw Broken() }
            state.items[item] = bytes
            if accident == .deathAfter { throw Broken() }
        }
    }

    func breakDown(_ item: DeviceItem) { state.withLock { _ = $0.broken.insert(item) } }

    func mend() { state.withLock { $0.broken = [] } }

    /// Lets that write, counted from the first one ever, go wrong.
    func plan(_ kind: Accident, atWrite write: Int) {
        state.withLock { $0.accident = (write, kind) }
    }

    var writes: Int { state.withLock { $0.writes } }

    var isDead: Bool { state.withLock { $0.isDead } }

    /// The process is started again.
    func revive() {
        state.withLock { state in
            state.isDead = false
            state.accident = nil
        }
    }

    /// What is stored, whatever state the process is in.
    func stored(_ item: DeviceItem) -> [UInt8]? { state.withLock { $0.items[item] } }
}
