/// Builds one line of JSON: an object whose members come in the order they are added.
struct JSONLine {
    /// Longer text is cut here, so that a line stays small enough to be written in one piece.
    static let maximumTextBytes = 2_048

    private(set) var bytes: [UInt8] = []

    init() {
        bytes.reserveCapacity(256)
        bytes.append(UInt8(ascii: "{"))
    }

    /// Adds one member.
    mutating func add(_ key: String, _ value: LogValue) {
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        append(text: key)
        bytes.append(UInt8(ascii: ":"))
        switch value {
        case .string(let text): append(text: text)
        case .int(let number): bytes.append(contentsOf: String(number).utf8)
        case .double(let number):
            // JSON has no infinity and no NaN.
            bytes.append(contentsOf: (number.isFinite ? String(number) : "null").utf8)
        case .bool(let flag): bytes.append(contentsOf: (flag ? "true" : "false").utf8)
        case .strings(let texts):
            bytes.append(UInt8(ascii: "["))
            for (index, text) in texts.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                append(text: text)
            }
            bytes.append(UInt8(ascii: "]"))
        }
    }

    /// The finished line with its newline.
    consuming func finished() -> [UInt8] {
        bytes.append(UInt8(ascii: "}"))
        bytes.append(UInt8(ascii: "\n"))
        return bytes
    }

    private mutating func append(text: String) {
        bytes.append(UInt8(ascii: "\""))
        var written = 0
        for scalar in text.unicodeScalars {
            written += UTF8.width(scalar)
            if written > Self.maximumTextBytes {
                bytes.append(contentsOf: "…".utf8)
                break
            }
            append(scalar)
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func append(_ scalar: Unicode.Scalar) {
        switch scalar {
        case "\"": bytes.append(contentsOf: "\\\"".utf8)
        case "\\": bytes.append(contentsOf: "\\\\".utf8)
        case "\n": bytes.append(contentsOf: "\\n".utf8)
        case "\r": bytes.append(contentsOf: "\\r".utf8)
        case "\t": bytes.append(contentsOf: "\\t".utf8)
        // C0 controls must be escaped (RFC 8259 §7); DEL, C1 controls and the line separators are
        // escaped too, so that no terminal or log reader acts on them.
        case "\0"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}":
            let digits = String(scalar.value, radix: 16)
            bytes.append(contentsOf: "\\u".utf8)
            bytes.append(contentsOf: String(repeating: "0", count: 4 - digits.utf8.count).utf8)
            bytes.append(contentsOf: digits.utf8)
        default: bytes.append(contentsOf: String(scalar).utf8)
        }
    }
}
