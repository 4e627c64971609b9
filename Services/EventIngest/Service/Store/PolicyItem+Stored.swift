import Contracts
import FoundationEssentials
import Storage

extension PolicyItem {
    /// The item that ``storedBytes()`` wrote; throws ``StorageError`` `corrupt` when it is none.
    static func stored(_ body: [UInt8]) throws -> PolicyItem {
        do {
            return try JSONDecoder().decode(PolicyItem.self, from: Data(body))
        } catch {
            throw StorageError(.corrupt, "a policy item cannot be read; restore a backup")
        }
    }

    /// The same bytes for equal items.
    func storedBytes() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return [UInt8](try encoder.encode(self))
    }
}
