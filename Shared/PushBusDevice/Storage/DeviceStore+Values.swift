#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension DeviceStore {
    /// Reads and decodes an item; damaged bytes are an error, not an absence.
    package func value<Value: Decodable>(
        _ item: DeviceItem,
        as _: Value.Type = Value.self
    ) throws(DeviceError) -> Value? {
        let bytes: [UInt8]?
        do { bytes = try read(item) } catch {
            throw .storage("the \(item.rawValue) cannot be read")
        }
        guard let bytes else { return nil }
        do { return try JSONDecoder().decode(Value.self, from: Data(bytes)) } catch {
            throw .storage("the stored \(item.rawValue) is damaged")
        }
    }

    /// Encodes and writes an item.
    package func store(_ value: some Encodable, _ item: DeviceItem) throws(DeviceError) {
        do {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            try write([UInt8](try encoder.encode(value)), item)
        } catch {
            throw .storage("the \(item.rawValue) cannot be written")
        }
    }

    /// Removes an item.
    package func remove(_ item: DeviceItem) throws(DeviceError) {
        do { try write(nil, item) } catch {
            throw .storage("the \(item.rawValue) cannot be removed")
        }
    }
}
