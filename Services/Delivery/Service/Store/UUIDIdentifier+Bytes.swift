import Contracts
import FoundationEssentials

extension UUIDIdentifier {
    /// The identifier whose 16 bytes in text order are these; nil for any other count.
    init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        var uuid: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        withUnsafeMutableBytes(of: &uuid) { $0.copyBytes(from: bytes) }
        self.init(UUID(uuid: uuid))
    }
}
