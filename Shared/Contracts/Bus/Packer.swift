/// Writes one MessagePack value; `Bus` implements it over its MessagePack library.
///
/// A map is `beginMap` with its number of fields, then for each field `key` and exactly one value.
package protocol Packer: AnyObject {
    func beginMap(fields count: Int)
    func beginArray(elements count: Int)
    func key(_ name: StaticString)
    func integer(_ value: Int64)
    func text(_ value: String)
    func binary(_ value: [UInt8])
    func flag(_ value: Bool)
}

extension Packer {
    package func field(_ name: StaticString, text value: String) {
        key(name)
        text(value)
    }

    package func field(_ name: StaticString, integer value: Int64) {
        key(name)
        integer(value)
    }

    package func field(_ name: StaticString, binary value: [UInt8]) {
        key(name)
        binary(value)
    }

    package func field(_ name: StaticString, flag value: Bool) {
        key(name)
        flag(value)
    }

    /// Writes nothing when there is no value; the caller leaves the field out of the count too.
    package func field(_ name: StaticString, optionalText value: String?) {
        if let value { field(name, text: value) }
    }

    package func field(_ name: StaticString, optionalInteger value: Int64?) {
        if let value { field(name, integer: value) }
    }

    package func field(_ name: StaticString, counts: [String: Int64]) {
        key(name)
        beginMap(fields: counts.count)
        for (reason, count) in counts.sorted(by: { $0.key < $1.key }) {
            text(reason)
            integer(count)
        }
    }
}
