import CNghttp2

/// Lays header fields out in one reused piece of memory in the form nghttp2 takes.
///
/// nghttp2 copies what it is given, except the fields added as lasting ones, which stay in place
/// as long as the encoder.
final class HTTP2HeaderEncoder {
    /// Most fields of one request, lasting ones included.
    static let maximumFields = 64
    /// Most bytes of names and values of one request without the lasting ones.
    static let maximumBytes = 32_768

    let fields: UnsafeMutablePointer<nghttp2_nv>
    private(set) var count = 0
    private let lastingCount: Int
    private var lasting: [UnsafeMutablePointer<UInt8>] = []
    private let scratch: UnsafeMutablePointer<UInt8>
    private var used = 0

    /// Every block is: as many leading fields as were announced, the lasting ones, the added ones.
    ///
    /// The leading places are for the pseudo fields that differ with each request, which must
    /// precede all others (RFC 9113 section 8.3).
    init(leading: Int = 0, lasting fieldsToKeep: [HTTP2Field]) {
        fields = .allocate(capacity: Self.maximumFields)
        fields.initialize(repeating: nghttp2_nv(), count: Self.maximumFields)
        scratch = .allocate(capacity: Self.maximumBytes)
        var index = leading
        for field in fieldsToKeep.prefix(Self.maximumFields - 16) {
            let name = Array(field.name.utf8)
            let value = Array(field.value.utf8)
            let memory = UnsafeMutablePointer<UInt8>.allocate(
                capacity: name.count + value.count + 1
            )
            memory.update(from: name, count: name.count)
            (memory + name.count).update(from: value, count: value.count)
            var flags =
                NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue
            if field.indexing == .none { flags |= NGHTTP2_NV_FLAG_NO_INDEX.rawValue }
            fields[index] = nghttp2_nv(
                name: memory,
                value: memory + name.count,
                namelen: name.count,
                valuelen: value.count,
                flags: UInt8(flags)
            )
            lasting.append(memory)
            index += 1
        }
        lastingCount = index
        count = index
    }

    deinit {
        for memory in lasting { memory.deallocate() }
        scratch.deallocate()
        fields.deallocate()
    }

    /// Forgets the fields of the block before.
    func restart() {
        count = lastingCount
        used = 0
    }

    /// Adds a field; false when the block is full.
    func add(_ name: String, _ value: String, _ indexing: HTTP2Field.Indexing) -> Bool {
        guard count < Self.maximumFields else { return false }
        guard set(count, name, value, indexing) else { return false }
        count += 1
        return true
    }

    /// Adds a field whose name lasts as long as the program; false when the block is full.
    func add(
        _ name: StaticString,
        _ value: UnsafeBufferPointer<UInt8>,
        _ indexing: HTTP2Field.Indexing
    ) -> Bool {
        guard count < Self.maximumFields, used + value.count <= Self.maximumBytes else {
            return false
        }
        let start = scratch + used
        if let base = value.baseAddress { start.update(from: base, count: value.count) }
        used += value.count
        var flags = NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue
        if indexing == .none { flags |= NGHTTP2_NV_FLAG_NO_INDEX.rawValue }
        fields[count] = nghttp2_nv(
            // nghttp2 only reads it.
            name: UnsafeMutablePointer(mutating: name.utf8Start),
            value: start,
            namelen: name.utf8CodeUnitCount,
            valuelen: value.count,
            flags: UInt8(flags)
        )
        count += 1
        return true
    }

    /// Adds `:status`, which has three digits (RFC 9110 section 15).
    func addStatus(_ status: Int) -> Bool {
        let digits = (
            UInt8(truncatingIfNeeded: status / 100 % 10 + 0x30),
            UInt8(truncatingIfNeeded: status / 10 % 10 + 0x30),
            UInt8(truncatingIfNeeded: status % 10 + 0x30)
        )
        return withUnsafeBytes(of: digits) { digits in
            add(":status", digits.bindMemory(to: UInt8.self), .automatic)
        }
    }

    /// Writes the leading field of that place; false when the block is full.
    func lead(
        _ place: Int,
        _ name: String,
        _ value: String,
        _ indexing: HTTP2Field.Indexing
    ) -> Bool {
        set(place, name, value, indexing)
    }

    private func set(
        _ place: Int,
        _ name: String,
        _ value: String,
        _ indexing: HTTP2Field.Indexing
    ) -> Bool {
        let nameStart = used
        guard copy(name) else { return false }
        let valueStart = used
        guard copy(value) else { return false }
        fields[place] = nghttp2_nv(
            name: scratch + nameStart,
            value: scratch + valueStart,
            namelen: valueStart - nameStart,
            valuelen: used - valueStart,
            flags: indexing == .none ? UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue) : 0
        )
        return true
    }

    private func copy(_ text: String) -> Bool {
        let length = text.utf8.count
        guard used + length <= Self.maximumBytes else { return false }
        let target = scratch + used
        let isContiguous: Void? = text.utf8.withContiguousStorageIfAvailable { bytes in
            if let base = bytes.baseAddress { target.update(from: base, count: bytes.count) }
        }
        if isContiguous == nil {
            for (offset, byte) in text.utf8.enumerated() { target[offset] = byte }
        }
        used += length
        return true
    }
}
