import Contracts

/// Why a first frame is not a header that can be served.
package enum BusHeaderFault: Error, Hashable, Sendable {
    /// Not a JSON object, or one without `pushbus`.
    case noHeader
    /// `pushbus` is not 1.
    case version(id: String?)
    /// A field is missing, of the wrong kind or too long.
    case malformed(id: String?, String)
}

/// Writes and reads the header frame.
///
/// Hand-written because it is on the path of every message, and because its bytes are golden: the
/// field order is fixed and slashes are not escaped.
package enum BusHeaderCodec {
    /// Longest header frame in bytes.
    static let maximumBytes = 4096
    /// Longest type, id and trace context in bytes.
    static let maximumFieldBytes = 128

    /// The header frame, with the fields in a fixed order.
    package static func write(_ header: BusHeader) -> [UInt8] {
        var frame: [UInt8] = []
        frame.reserveCapacity(192)
        frame.append(contentsOf: "{\"pushbus\":".utf8)
        frame.append(contentsOf: String(header.pushbus).utf8)
        append(&frame, "type", header.type)
        append(&frame, "id", header.id)
        if let re = header.re { append(&frame, "re", re) }
        append(&frame, "content", header.content.rawValue)
        if let trace = header.traceparent { append(&frame, "traceparent", trace) }
        frame.append(UInt8(ascii: "}"))
        return frame
    }

    /// The type of a message by its frames, for crash points.
    static func type(of frames: [[UInt8]]) -> String {
        frames.first.flatMap { try? read($0).type } ?? "unnamed"
    }

    private static func append(_ frame: inout [UInt8], _ name: StaticString, _ value: String) {
        frame.append(contentsOf: ",\"".utf8)
        name.withUTF8Buffer { frame.append(contentsOf: $0) }
        frame.append(contentsOf: "\":\"".utf8)
        for byte in value.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                frame.append(UInt8(ascii: "\\"))
                frame.append(byte)
            case 0..<0x20:
                let digits = Array("0123456789abcdef".utf8)
                frame.append(contentsOf: "\\u00".utf8)
                frame.append(digits[Int(byte >> 4)])
                frame.append(digits[Int(byte & 15)])
            default: frame.append(byte)
            }
        }
        frame.append(UInt8(ascii: "\""))
    }

    /// Reads a header frame; unknown fields are skipped.
    package static func read(_ frame: [UInt8]) throws(BusHeaderFault) -> BusHeader {
        guard
            frame.count <= maximumBytes,
            let fields = (try? StrictJSON(parsing: frame))?.members,
            let version = fields["pushbus"]
        else { throw .noHeader }
        let id = word(fields["id"])
        guard version == .number("1") else { throw .version(id: id) }
        guard let id else { throw .malformed(id: nil, "/id must be 1 to 128 printable characters") }
        guard let type = word(fields["type"]) else {
            throw .malformed(id: id, "/type must be 1 to 128 printable characters")
        }
        guard let content = fields["content"]?.text.flatMap(BodyContent.init(rawValue:)) else {
            throw .malformed(id: id, "/content must be json or msgpack")
        }
        var re: String?
        if let field = fields["re"], field != .null {
            guard let answered = word(field) else {
                throw .malformed(id: id, "/re must be 1 to 128 printable characters")
            }
            re = answered
        }
        return BusHeader(
            type: type,
            id: id,
            re: re,
            content: content,
            traceparent: word(fields["traceparent"])
        )
    }

    private static func word(_ field: StrictJSON?) -> String? {
        guard
            let text = field?.text,
            (1...maximumFieldBytes).contains(text.utf8.count),
            text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f })
        else { return nil }
        return text
    }
}
