import Bus
import Contracts
import ServiceKit
import Testing

@Suite struct CodecTests {
    @Test func bothFormsReadBackToTheSameValue() throws {
        let echo = Echo("Grüße / \u{0} \u{1F469}\u{200D}\u{1F52C}", data: [UInt8](0...255))
        for content in [BodyContent.json, .messagePack] {
            let encoded = try BusCodec.encode(echo, content)
            #expect(encoded.content == content)
            #expect(try BusCodec.decode(Echo.self, content, encoded.body) == echo)
        }
    }

    @Test func binaryIsPackedAsBin() throws {
        let body = try BusCodec.encode(Echo("a", data: [1, 2]), .messagePack).body
        let golden: [UInt8] =
            [0x82, 0xa4] + Array("text".utf8) + [0xa1, 0x61, 0xa4] + Array("data".utf8)
            + [0xc4, 2, 1, 2]
        #expect(body == golden)
    }

    @Test func messagesWithoutAPackedFormStayJSON() throws {
        let encoded = try BusCodec.encode(Note(line: "a/b"), .messagePack)
        #expect(encoded.content == .json)
        #expect(text(encoded.body) == "{\"line\":\"a/b\"}")
        #expect(throws: Reject.self) { try BusCodec.decode(Note.self, .messagePack, [0x80]) }
    }

    @Test func unknownPackedFieldsAreSkipped() throws {
        let packer = MessagePackPacker()
        packer.beginMap(fields: 3)
        packer.key("later")
        packer.beginArray(elements: 2)
        packer.integer(-5)
        packer.flag(true)
        packer.field("text", text: "x")
        packer.field("data", binary: [])
        #expect(try BusCodec.decode(Echo.self, .messagePack, packer.bytes) == Echo("x"))
    }

    @Test(arguments: [Int64.min, -129, -33, -32, -1, 0, 127, 128, 65_536, .max])
    func integersKeepTheirValue(_ value: Int64) throws {
        let packer = MessagePackPacker()
        packer.integer(value)
        let read = try MessagePackReader.read(packer.bytes) {
            (root) throws(ContractViolation) in try root.integer()
        }
        #expect(read == value)
    }

    @Test func anUnsignedIntegerBeyondTheRangeIsRefused() {
        #expect(throws: ContractViolation.self) {
            try MessagePackReader.read([0xcf] + [UInt8](repeating: 0xff, count: 8)) {
                (root) throws(ContractViolation) in try root.integer()
            }
        }
    }

    @Test func invalidUTF8IsRefused() {
        #expect(throws: ContractViolation.self) {
            try MessagePackReader.read([0xa2, 0xc3, 0x28]) {
                (root) throws(ContractViolation) in try root.text()
            }
        }
    }

    @Test func pointersNameWhatIsWrong() {
        #expect {
            try BusCodec.decode(
                DeliveryEnqueue.self,
                .json,
                Array("{\"event_id\":\"nonsense\"}".utf8)
            )
        } throws: { error in
            (error as? Reject)?.pointer == "/event_id"
        }
    }

    @Test func aMessageOverOneMebibyteIsRefusedBeforeItIsSent() {
        let large = Echo("x", data: [UInt8](repeating: 0, count: 1 << 20))
        #expect {
            try BusCodec.encode(large, .messagePack)
        } throws: { error in
            (error as? Reject)?.code == .tooLarge
        }
    }

    @Test func randomPackedBytesNeverTrap() throws {
        let random = RandomSource.seeded(11)
        let seed = try BusCodec.encode(Echo("abc", data: [1, 2, 3]), .messagePack).body
        for round in 0..<20_000 {
            var body = round.isMultiple(of: 2) ? random.bytes(30) : seed
            for _ in 0..<Int(random.uniform(below: 4)) {
                let place = Int(random.uniform(below: UInt64(body.count)))
                body[place] = UInt8(truncatingIfNeeded: random.next())
            }
            _ = try? BusCodec.decode(Echo.self, .messagePack, body)
            _ = try? BusCodec.decode(DeliveryEnqueue.self, .messagePack, body)
        }
    }
}
