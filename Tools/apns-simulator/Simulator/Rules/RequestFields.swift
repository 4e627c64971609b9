import Glibc
import HTTP2

/// The header fields of one request that have a meaning, as bytes of the request itself: valid
/// only while the request lends them.
struct RequestFields {
    typealias Value = UnsafeBufferPointer<UInt8>

    private(set) var method: Value?
    private(set) var path: Value?
    private(set) var authorization: Value?
    private(set) var topic: Value?
    private(set) var pushType: Value?
    private(set) var priority: Value?
    private(set) var expiration: Value?
    private(set) var id: Value?
    private(set) var collapseID: Value?
    /// One of them came twice; the first counts.
    private(set) var isAnyRepeated = false

    init(_ fields: HTTP2HeaderList.Fields) {
        var found = RequestFields()
        fields.forEach { name, value in found.take(name, value) }
        self = found
    }

    private init() {}

    /// Most names differ in length already.
    private mutating func take(_ name: Value, _ value: Value) {
        var isRepeated = false
        func keep(_ value: Value, _ place: inout Value?) {
            if place == nil { place = value } else { isRepeated = true }
        }
        switch name.count {
        case 5: if name.isEqual(to: ":path") { keep(value, &path) }
        case 7:
            if name.isEqual(to: "apns-id") {
                keep(value, &id)
            } else if name.isEqual(to: ":method") {
                keep(value, &method)
            }
        case 10: if name.isEqual(to: "apns-topic") { keep(value, &topic) }
        case 13:
            if name.isEqual(to: "authorization") {
                keep(value, &authorization)
            } else if name.isEqual(to: "apns-priority") {
                keep(value, &priority)
            }
        case 14: if name.isEqual(to: "apns-push-type") { keep(value, &pushType) }
        case 15: if name.isEqual(to: "apns-expiration") { keep(value, &expiration) }
        case 16: if name.isEqual(to: "apns-collapse-id") { keep(value, &collapseID) }
        default: break
        }
        if isRepeated { isAnyRepeated = true }
    }
}

extension UnsafeBufferPointer<UInt8> {
    func isEqual(to text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount, let baseAddress else { return false }
        return memcmp(baseAddress, text.utf8Start, count) == 0
    }

    func begins(with text: StaticString) -> Bool {
        guard count >= text.utf8CodeUnitCount, let baseAddress else { return false }
        return memcmp(baseAddress, text.utf8Start, text.utf8CodeUnitCount) == 0
    }
}
