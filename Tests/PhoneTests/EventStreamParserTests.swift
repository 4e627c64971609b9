import Testing

@testable import phone

@Suite struct EventStreamParserTests {
    private static let text =
        "event: listening\ndata: {}\n\n: still here\n\nid: 7\r\nevent: notification\r\ndata: a\r\n"
        + "data:b\r\n\r\ndata: plain\n\nevent: empty\n\n"

    private static let expected = [
        EventStreamParser.Event(name: "listening", data: "{}"),
        EventStreamParser.Event(name: "notification", data: "a\nb"),
        EventStreamParser.Event(name: "message", data: "plain"),
    ]

    @Test(arguments: [1, 2, 3, 7, 1000]) func piecesOfAnySize(size: Int) {
        var parser = EventStreamParser()
        var rest = Array(Self.text.utf8)[...]
        var events: [EventStreamParser.Event] = []
        while !rest.isEmpty {
            events += parser.take(Array(rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
        #expect(events == Self.expected)
    }

    @Test func overlongLinesAndEventsAreDropped() {
        var parser = EventStreamParser()
        let long = String(repeating: "x", count: EventStreamParser.limit)
        #expect(parser.take(Array("data: \(long)\n\n".utf8)).isEmpty)
        let half = String(repeating: "x", count: EventStreamParser.limit / 2)
        #expect(parser.take(Array("data: \(half)\ndata: \(half)y\ndata: z\n\n".utf8)).isEmpty)
        #expect(
            parser.take(Array("data: after\n\n".utf8))
                == [EventStreamParser.Event(name: "message", data: "after")]
        )
    }
}
