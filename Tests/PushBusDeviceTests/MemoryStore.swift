import Loop
import PushBusDevice

/// A device's storage in memory, which can be made to fail.
final class MemoryStore: DeviceStore {
    struct Broken: Error {}

    private let items = Locked<[DeviceItem: [UInt8]]>([:])
    private let broken = Locked<Set<DeviceItem>>([])

    func read(_ item: DeviceItem) throws -> [UInt8]? {
        if broken.withLock({ $0.contains(item) }) { throw Broken() }
        return items.withLock { $0[item] }
    }

    func write(_ bytes: [UInt8]?, _ item: DeviceItem) throws {
        if broken.withLock({ $0.contains(item) }) { throw Broken() }
        items.withLock { $0[item] = bytes }
    }

    func breakDown(_ item: DeviceItem) { broken.withLock { _ = $0.insert(item) } }
}
