import Contracts
import FoundationEssentials
import Storage

extension EventID {
    /// An identifier as it was stored: 16 bytes in text order.
    init(stored bytes: [UInt8]) throws(StorageError) {
        guard bytes.count == 16 else {
            throw StorageError(
                .corrupt,
                "an event's identifier is damaged; move the file away and restore a backup"
            )
        }
        self.init(
            UUID(
                uuid: (
                    bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7],
                    bytes[8], bytes[9], bytes[10], bytes[11], bytes[12], bytes[13], bytes[14],
                    bytes[15]
                )
            )
        )
    }
}
