import Contracts
import FoundationEssentials

/// Turns bodies into messages and back, in JSON or MessagePack.
package enum BusCodec {
    /// The form of choice between our own processes: packed where the message has a packed form.
    package static func preferredContent<Message: BusMessage>(
        of type: Message.Type
    ) -> BodyContent {
        type is any PackedMessage.Type ? .messagePack : .json
    }

    /// Writes a body in the form asked for; messages without a packed form are always JSON.
    ///
    /// Throws a ``Reject`` when the message cannot be written or is larger than the bus allows.
    package static func encode<Message: BusMessage>(
        _ message: Message,
        _ content: BodyContent
    ) throws(Reject) -> (content: BodyContent, body: [UInt8]) {
        let result: (content: BodyContent, body: [UInt8])
        if content == .messagePack, let message = message as? any PackedMessage {
            let packer = MessagePackPacker()
            message.pack(into: packer)
            result = (.messagePack, packer.bytes)
        } else {
            result = (.json, try encodeJSON(message))
        }
        guard result.body.count + BusHeaderCodec.maximumBytes <= BusLimits.messageBytes else {
            throw Reject(.tooLarge, "\(Message.type) is larger than 1 MiB; send it in parts")
        }
        return result
    }

    private static func encodeJSON(_ message: some BusMessage) throws(Reject) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        do {
            return [UInt8](try encoder.encode(message))
        } catch {
            throw Reject(.failed, "the answer cannot be written as JSON")
        }
    }

    /// Reads a body and checks its bounds; throws a `malformed` ``Reject`` with a pointer to the
    /// offending part, never with its value.
    package static func decode<Message: BusMessage>(
        _ type: Message.Type,
        _ content: BodyContent,
        _ body: [UInt8]
    ) throws(Reject) -> Message {
        do throws(ContractViolation) {
            let message: Message
            switch content {
            case .json: message = try decodeJSON(type, body)
            case .messagePack: message = try decodePacked(type, body)
            }
            try message.checkBounds()
            return message
        } catch {
            throw Reject(.malformed, error.reason, pointer: error.pointer)
        }
    }

    private static func decodePacked<Message: BusMessage>(
        _ type: Message.Type,
        _ body: [UInt8]
    ) throws(ContractViolation) -> Message {
        guard let packed = type as? any PackedMessage.Type else {
            throw ContractViolation("", "has no MessagePack form; send it as JSON")
        }
        let message = try MessagePackReader.read(body) {
            (root) throws(ContractViolation) -> any PackedMessage in
            try packed.init(packed: root)
        }
        guard let message = message as? Message else {
            throw ContractViolation("", "has no MessagePack form; send it as JSON")
        }
        return message
    }

    private static func decodeJSON<Message: BusMessage>(
        _ type: Message.Type,
        _ body: [UInt8]
    ) throws(ContractViolation) -> Message {
        try JSONDepth.check(body)
        do {
            return try JSONDecoder().decode(type, from: Data(body))
        } catch let error as ContractViolation {
            throw error
        } catch let error as DecodingError {
            throw ContractViolation(pointer(of: error), reason(of: error))
        } catch {
            throw ContractViolation("", "is not JSON of this message")
        }
    }

    private static func pointer(of error: DecodingError) -> String {
        var path: [any CodingKey]
        switch error {
        case .typeMismatch(_, let context), .valueNotFound(_, let context),
            .dataCorrupted(let context):
            path = context.codingPath
        case .keyNotFound(let key, let context): path = context.codingPath + [key]
        @unknown default: path = []
        }
        return path.map { key in
            if let index = key.intValue { return "/\(index)" }
            return "/"
                + key.stringValue.split(separator: "~", omittingEmptySubsequences: false)
                .joined(separator: "~0")
                .split(separator: "/", omittingEmptySubsequences: false).joined(separator: "~1")
        }.joined()
    }

    private static func reason(of error: DecodingError) -> String {
        switch error {
        case .typeMismatch: "is of another kind than the schema says"
        case .valueNotFound: "must not be null"
        case .keyNotFound: "is missing"
        case .dataCorrupted: "is not what the schema says"
        @unknown default: "is not what the schema says"
        }
    }
}

/// Refuses JSON that nests deeper than any contract, before a recursive decoder sees it.
enum JSONDepth {
    static let maximum = 64

    static func check(_ body: [UInt8]) throws(ContractViolation) {
        var depth = 0
        var inText = false
        var escaped = false
        for byte in body {
            if inText {
                if escaped {
                    escaped = false
                } else if byte == UInt8(ascii: "\\") {
                    escaped = true
                } else if byte == UInt8(ascii: "\"") {
                    inText = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): inText = true
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                guard depth <= maximum else {
                    throw ContractViolation("", "is nested deeper than \(maximum) levels")
                }
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: continue
            }
        }
    }
}
