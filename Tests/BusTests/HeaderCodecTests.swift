import Contracts
import ServiceKit
import Testing

@testable import Bus

@Suite struct HeaderCodecTests {
    private let id = "11111111-1111-4111-8111-111111111111"

    @Test func theBytesOfReleasedHeadersNeverChange() {
        let request = BusHeader(
            type: "delivery.enqueue.v1",
            id: id,
            content: .messagePack,
            traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        )
        let requestText = """
            {"pushbus":1,"type":"delivery.enqueue.v1","id":"11111111-1111-4111-8111-111111111111",\
            "content":"msgpack",\
            "traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
            """
        #expect(text(BusHeaderCodec.write(request)) == requestText)
        let answer = BusHeader(type: "ack.v1", id: id, re: id, content: .json)
        let answerText = """
            {"pushbus":1,"type":"ack.v1","id":"11111111-1111-4111-8111-111111111111",\
            "re":"11111111-1111-4111-8111-111111111111","content":"json"}
            """
        #expect(text(BusHeaderCodec.write(answer)) == answerText)
    }

    @Test func whatIsWrittenIsRead() throws {
        let header = BusHeader(type: "a/b\"c\\d", id: "x", re: "y", content: .json)
        #expect(try BusHeaderCodec.read(BusHeaderCodec.write(header)) == header)
    }

    @Test func anotherWritersHeaderIsRead() throws {
        let frame = """
             { "content" : "json", "later": {"a":[1,-2.5e3,"\\u00e9",null,true]}, "id":"a\\u002fb",
               "pushbus" : 1, "type":"t.v1", "re": null }
            """
        let header = try BusHeaderCodec.read(Array(frame.utf8))
        #expect(header == BusHeader(type: "t.v1", id: "a/b", content: .json))
    }

    @Test(arguments: [
        "", "{", "[]", "null", "{}", "{\"pushbus\"}", "{\"pushbus\":1} x", "{\"pushbus\":1,}",
        "{\"a\":\"\\ud800\"}", "{\"a\":\"\u{1}\"}", "{\"a\":\"\\q\"}", "{\"a\":tru}",
        "\u{feff}{\"pushbus\":1}", String(repeating: "{\"a\":", count: 2000),
    ])
    func whatIsNoHeaderSaysSo(_ frame: String) {
        #expect(throws: BusHeaderFault.noHeader) { try BusHeaderCodec.read(Array(frame.utf8)) }
    }

    @Test func otherVersionsAndBadFieldsKeepTheIdForTheAnswer() {
        #expect(throws: BusHeaderFault.version(id: "a")) {
            try BusHeaderCodec.read(Array("{\"pushbus\":\"1\",\"id\":\"a\"}".utf8))
        }
        let bad = [
            "{\"pushbus\":1,\"id\":\"a\",\"content\":\"json\"}",
            "{\"pushbus\":1,\"id\":\"a\",\"type\":\"t\"}",
            "{\"pushbus\":1,\"id\":\"a\",\"type\":\"t t\",\"content\":\"json\"}",
            "{\"pushbus\":1,\"id\":\"a\",\"type\":\"t\",\"content\":\"json\",\"re\":5}",
        ]
        for frame in bad {
            #expect {
                try BusHeaderCodec.read(Array(frame.utf8))
            } throws: { error in
                guard case BusHeaderFault.malformed(id: "a", _)? = error as? BusHeaderFault else {
                    return false
                }
                return true
            }
        }
    }

    @Test func randomBytesNeverTrap() {
        let random = RandomSource.seeded(1)
        let seed = BusHeaderCodec.write(BusHeader(type: "t.v1", id: id, content: .json))
        for round in 0..<20_000 {
            var frame = round.isMultiple(of: 2) ? random.bytes(40) : seed
            for _ in 0..<Int(random.uniform(below: 4)) {
                let place = Int(random.uniform(below: UInt64(frame.count)))
                frame[place] = UInt8(truncatingIfNeeded: random.next())
            }
            _ = try? BusHeaderCodec.read(frame)
        }
    }

    @Test func messageIdsAreRandomUUIDs() {
        let random = RandomSource.seeded(3)
        let ids = (0..<100).map { _ in random.messageID() }
        #expect(Set(ids).count == 100)
        for id in ids {
            #expect(EventID(id) != nil)
            #expect(Array(id)[14] == "4")
        }
    }
}
