import Contracts
import EventIngestCore
import FoundationEssentials
import Testing

@Suite struct CloudEventTests {
    struct Wrong: Sendable, CustomTestStringConvertible {
        let pointer: String
        let event: JSONValue
        var testDescription: String { pointer }

        init(_ pointer: String, _ event: JSONValue) {
            self.pointer = pointer
            self.event = event
        }
    }

    private static func base64(_ text: String) -> JSONValue {
        .string(Blob(Array(text.utf8)).base64)
    }

    static let wrongAttributes: [Wrong] = {
        func with(_ name: String, _ value: JSONValue?) -> Wrong {
            Wrong("/\(name)", EventSamples.alert(changes: [name: value]))
        }
        return [
            Wrong("", .array([])), Wrong("", .null), Wrong("", .string("x")),
            Wrong(
                "",
                EventSamples.alert(dataChanges: [
                    "note": .string(String(repeating: "a", count: 65536))
                ])
            ),
            with("specversion", nil), with("specversion", .null),
            with("specversion", .string("0.3")), with("specversion", .integer(1)),
            with("id", nil), with("id", .string("")), with("id", .integer(1)),
            with("id", .string("a\u{7}b")), with("id", .string("a\u{85}b")),
            with("id", .string("a\u{fffe}b")),
            with("id", .string(String(repeating: "x", count: 513))),
            with("source", nil), with("source", .string("")), with("source", .string("a b")),
            with("source", .string("/ä")), with("source", .string("/%4")),
            with("source", .string("/%zz")), with("source", .bool(true)),
            with("type", nil), with("type", .string("com.example.other")),
            with("time", .string("yesterday")), with("time", .integer(0)),
            with("expirytime", .string("2026-05-04")),
            with("subject", .string("")), with("dataschema", .string("no-scheme")),
            with("datacontenttype", .string("text/plain")),
            with("datacontenttype", .string("json")),
            with("datacontenttype", .string("application/+json")),
            with("Upper", .string("x")), with("with-dash", .string("x")),
            with("with~1slash", nil).replacing("with/slash"),
            with("structured", .object([:])), with("listed", .array([])),
            with("big", .integer(1 << 40)), with("fraction", .number(1.5)),
            with("data", nil), with("data", .null), with("data", .string("x")),
            with("data_base64", base64("{}")),
            Wrong(
                "/data_base64",
                EventSamples.alert(changes: ["data": nil, "data_base64": .string("x")])
            ),
            Wrong(
                "/data_base64",
                EventSamples.alert(changes: ["data": nil, "data_base64": base64("not json")])
            ),
        ]
    }()

    @Test(arguments: wrongAttributes) func namesTheWrongAttribute(_ wrong: Wrong) {
        let violation = #expect(throws: ContractViolation.self) {
            try EventSamples.candidate(wrong.event)
        }
        #expect(violation?.pointer == wrong.pointer)
        #expect(violation?.reason.isEmpty == false)
    }

    static let wrongData: [Wrong] = {
        func with(_ name: String, _ value: JSONValue?) -> Wrong {
            Wrong("/data/\(name)", EventSamples.alert(dataChanges: [name: value]))
        }
        func test(_ name: String, _ value: JSONValue) -> Wrong {
            var data: [String: JSONValue] = [
                "event_id": .string("11111111-1111-4111-8111-111111111111"),
                "installation_id": .string("phone"),
            ]
            data[name] = value
            return Wrong(
                "/data/\(name)",
                EventSamples.test(changes: ["data": .object(data)])
            )
        }
        return [
            with("rule_id", nil), with("rule_id", .string("")), with("rule_id", .integer(7)),
            with("rule_id", .string("a\nb")),
            with("rule_id", .string(String(repeating: "r", count: 513))),
            with("rule_name", nil), with("rule_name", .string("")), with("rule_name", .bool(true)),
            with("server_id", nil), with("server_name", .null),
            with("source_address", .integer(1)), with("started_at", nil),
            with("started_at", .string("now")),
            Wrong("/data", EventSamples.alert(rule: String(repeating: "r", count: 500))),
            test("event_id", .null), test("event_id", .string("1")),
            test("event_id", .string("AAAAAAAA-1111-4111-8111-111111111111")),
            test("installation_id", .null), test("installation_id", .string("a\u{0}")),
        ]
    }()

    @Test(arguments: wrongData) func namesTheWrongField(_ wrong: Wrong) {
        let violation = #expect(throws: ContractViolation.self) {
            try EventSamples.candidate(wrong.event)
        }
        #expect(violation?.pointer == wrong.pointer)
    }

    @Test func neverRepeatsTheOffendingValue() {
        let secret = "s3cr3t\u{1}"
        for name in ["id", "source", "type", "time", "extension", "datacontenttype"] {
            let violation = #expect(throws: ContractViolation.self) {
                try EventSamples.candidate(EventSamples.alert(changes: [name: .string(secret)]))
            }
            #expect(violation?.reason.contains("s3cr3t") == false)
        }
    }

    @Test(arguments: [
        ["datacontenttype": JSONValue.string("application/json; charset=utf-8")],
        ["datacontenttype": .string("application/vnd.alert+JSON")],
        ["subject": .string("disk"), "dataschema": .string("https://example.org/s.json")],
        ["severity": .string(""), "count": .integer(-3), "urgent": .bool(false)],
        ["source": .string("urn:uuid:6e8bc430-9c3a-11d9-9669-0800200c9a66"), "time": .null],
        ["traceparent": .string("not a trace context")],
        ["source": .string("/caf%C3%A9"), "id": .string("émile 😀")],
    ]) func takesWhatTheSpecificationAllows(_ changes: [String: JSONValue]) throws {
        _ = try EventSamples.candidate(EventSamples.alert(changes: changes))
    }

    @Test func takesAnEventOfExactlyTheLargestSize() throws {
        let empty = try EventSamples.alert(dataChanges: ["n": .string("")]).canonicalBytes().count
        func event(_ count: Int) -> JSONValue {
            EventSamples.alert(dataChanges: ["n": .string(String(repeating: "a", count: count))])
        }
        _ = try EventSamples.candidate(event(65536 - empty))
        #expect(throws: ContractViolation.self) {
            try EventSamples.candidate(event(65537 - empty))
        }
    }

    @Test func keepsOnlyAWellFormedTraceContext() throws {
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        let kept = EventSamples.alert(changes: ["traceparent": .string(trace)])
        #expect(try EventSamples.candidate(kept).traceparent == trace)
        let upper = EventSamples.alert(changes: ["traceparent": .string(trace.uppercased())])
        #expect(try EventSamples.candidate(upper).traceparent == nil)
    }

    @Test func hashesWhatTheEventSaysAndNotHowItIsWritten() throws {
        let plain = try EventSamples.candidate(EventSamples.alert())
        let text = try #require(EventSamples.alert()["data"]).canonicalBytes()
        let same: [JSONValue] = [
            EventSamples.alert(changes: ["time": .null, "subject": .null]),
            EventSamples.alert(changes: [
                "traceparent": .string("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
                "tracestate": .string("a=b"),
            ]),
            EventSamples.alert(changes: [
                "data": nil, "data_base64": .string(Blob(text).base64),
            ]),
            try JSONDecoder().decode(
                JSONValue.self,
                from: Data(Self.unsorted.utf8)
            ),
        ]
        for event in same {
            #expect(try EventSamples.candidate(event).contentHash == plain.contentHash)
        }
        let other: [JSONValue] = [
            EventSamples.alert(changes: ["subject": .string("x")]),
            EventSamples.alert(changes: ["time": .string("2026-05-04T03:02:01Z")]),
            EventSamples.alert(dataChanges: ["extra": .null]),
        ]
        for event in other {
            #expect(try EventSamples.candidate(event).contentHash != plain.contentHash)
        }
    }

    static let unsorted = #"""
        { "type": "org.pushbus.alert.triggered.v1", "source": "\/monitor\/1",
          "data": { "started_at": "2026-05-04T03:02:01Z", "server_name": "Server s1",
            "server_id": "s\u0031", "rule_name": "Rule cpu", "rule_id": "cpu" },
          "id": "1", "specversion": "1.0" }
        """#
}

extension CloudEventTests.Wrong {
    /// The same event with the attribute named as given, whose pointer is escaped.
    fileprivate func replacing(_ name: String) -> Self {
        Self(pointer, EventSamples.alert(changes: [name: .string("x")]))
    }
}
