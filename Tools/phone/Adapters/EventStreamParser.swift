/// Reads server-sent events (WHATWG HTML, "Server-sent events") from pieces of any size.
struct EventStreamParser: Sendable {
    struct Event: Hashable, Sendable {
        var name: String
        var data: String
    }

    /// Bytes of a line or of an event's data beyond which it is dropped.
    static let limit = 64 << 10

    private var line: [UInt8] = []
    private var isTooLong = false
    private var name = ""
    private var data: [String] = []
    private var dataBytes = 0

    /// Takes the next piece and returns the events that it completed.
    mutating func take(_ bytes: [UInt8]) -> [Event] {
        var events: [Event] = []
        for byte in bytes {
            guard byte == 0x0a else {
                if line.count < Self.limit { line.append(byte) } else { isTooLong = true }
                continue
            }
            if line.last == 0x0d { line.removeLast() }
            let text = String(decoding: line, as: UTF8.self)
            let isDropped = isTooLong
            line.removeAll(keepingCapacity: true)
            isTooLong = false
            if isDropped { continue }
            if let event = end(text) { events.append(event) }
        }
        return events
    }

    private mutating func end(_ text: String) -> Event? {
        guard !text.isEmpty else {
            defer {
                name = ""
                data = []
                dataBytes = 0
            }
            guard !data.isEmpty, dataBytes <= Self.limit else { return nil }
            return Event(
                name: name.isEmpty ? "message" : name,
                data: data.joined(separator: "\n")
            )
        }
        guard !text.hasPrefix(":") else { return nil }
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        var value = parts.count > 1 ? String(parts[1]) : ""
        if value.hasPrefix(" ") { value.removeFirst() }
        switch parts[0] {
        case "event": name = value
        case "data":
            dataBytes += value.utf8.count
            if dataBytes <= Self.limit { data.append(value) }
        default: break
        }
        return nil
    }
}
