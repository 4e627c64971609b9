import Bus
import Contracts
import FoundationEssentials
import Testing

/// Golden bytes of released message types never change.
///
/// A new type gets its files with `PUSHBUS_RECORD_GOLDEN=1 swift test --filter Golden`, which never
/// overwrites one.
@Suite("Golden messages")
struct GoldenTests {
    static let golden = URL(filePath: #filePath).deletingLastPathComponent().appending(
        path: "Golden"
    )
    static let schemas = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(
            path: "Shared/Contracts/Schemas"
        )

    @Test("every message equals its golden JSON", arguments: Samples.messages.indices)
    func json(index: Int) throws {
        try check(Samples.messages[index])
    }

    private func check<Message: BusMessage>(_ message: Message) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
        let encoded = try encoder.encode(message) + Data([0x0a])
        let file = Self.golden.appending(path: "\(Message.type).json")
        record(encoded, at: file)
        let golden = try Data(contentsOf: file)
        #expect(golden == encoded, "\(Message.type) is written in another way than released")

        let decoded = try JSONDecoder().decode(Message.self, from: golden)
        try decoded.checkBounds()
        #expect(try encoder.encode(decoded) + Data([0x0a]) == golden)
        if let packed = message as? any PackedMessage { try checkPacked(packed, json: golden) }
    }

    private func checkPacked<Message: PackedMessage>(_ message: Message, json: Data) throws {
        let encoded = Data(try BusCodec.encode(message, .messagePack).body)
        let file = Self.golden.appending(path: "\(Message.type).msgpack")
        record(encoded, at: file)
        let golden = try Data(contentsOf: file)
        #expect(golden == encoded, "\(Message.type) is packed in another way than released")

        // Both forms are the same value: what MessagePack gives is written as the golden JSON.
        let decoded = try BusCodec.decode(Message.self, .messagePack, [UInt8](golden))
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
        #expect(try encoder.encode(decoded) + Data([0x0a]) == json)
    }

    private func record(_ bytes: Data, at file: URL) {
        guard ProcessInfo.processInfo.environment["PUSHBUS_RECORD_GOLDEN"] != nil else { return }
        guard !FileManager.default.fileExists(atPath: file.path) else { return }
        try? bytes.write(to: file)
    }

    @Test("each sample type, each schema and each golden file belong together")
    func completeness() throws {
        let types = Set(Samples.messages.map { Swift.type(of: $0).type })
        let files = { (directory: URL, ending: String) in
            Set(
                try FileManager.default.contentsOfDirectory(atPath: directory.path)
                    .filter { $0.hasSuffix(ending) }.map { String($0.dropLast(ending.count)) }
            )
        }
        #expect(try files(Self.golden, ".json") == types)
        #expect(try files(Self.schemas, ".json") == types.union(["header"]))
        let packed = Samples.messages.filter { $0 is any PackedMessage }
        #expect(
            try files(Self.golden, ".msgpack") == Set(packed.map { Swift.type(of: $0).type })
        )
    }

    @Test("the description of the bus names every message")
    func described() throws {
        let file = Self.schemas.deletingLastPathComponent().appending(path: "asyncapi.yaml")
        let text = try String(contentsOf: file, encoding: .utf8)
        for type in Set(Samples.messages.map { Swift.type(of: $0).type }) {
            #expect(text.contains("payload: {$ref: \"Schemas/\(type).json\"}"), "\(type)")
        }
    }

    @Test("the request types that travel in batches have a packed form")
    func hotLinks() {
        let packed = Samples.messages.filter { $0 is any PackedMessage }.map {
            Swift.type(of: $0).type
        }
        for type in [
            "delivery.enqueue.v1", "relay.send.v1", "relay.verdict.v1", "eligibility.check.v1",
            "eligibility.check.answer.v1", "audience.page.v1", "audience.page.answer.v1",
        ] {
            #expect(packed.contains(type))
        }
    }
}
