import HTTP2
import Testing

@Suite(.timeLimit(.minutes(1)))
struct RequestRuleTests {
    @Test("an accepted request: 200, no body, its own id, and a unique id in the sandbox only")
    func accepted() async throws {
        let fixture = try await SimulatorFixture()
        let id = "0f8fad5b-d9cb-469f-a165-70867728950e"
        let request = try fixture.request("00ff", ["apns-id": id])
        let sandbox = try await fixture.answer(request)
        #expect(sandbox.status == 200 && sandbox.reason == nil)
        #expect(sandbox.headers["apns-id"] == id)
        #expect(sandbox.headers["apns-unique-id"] != nil)
        #expect(sandbox.headers["content-type"] == nil)
        let production = try await fixture.answer(
            try fixture.request("11ff"),
            environment: "production"
        )
        #expect(production.status == 200)
        #expect(production.headers["apns-id"].map { $0.utf8.count } == 36)
        #expect(production.headers["apns-unique-id"] == nil)
        await fixture.stop()
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var changes: [String: String?]
        var status: Int
        var reason: String
        var body = #"{"aps":{"alert":"x"}}"#

        var testDescription: String { reason + " " + changes.keys.joined(separator: ",") }
    }

    private static let cases: [Case] = [
        Case(changes: [":method": "GET"], status: 405, reason: "MethodNotAllowed"),
        Case(changes: [":path": "/3/devices/00ff"], status: 404, reason: "BadPath"),
        Case(changes: [":path": "/3/device/00/ff"], status: 404, reason: "BadPath"),
        Case(changes: [":path": "/3/device/"], status: 400, reason: "MissingDeviceToken"),
        Case(changes: [":path": "/3/device/xyz"], status: 400, reason: "BadDeviceToken"),
        Case(changes: [":path": "/3/device/abc"], status: 400, reason: "BadDeviceToken"),
        Case(changes: ["apns-id": "1"], status: 400, reason: "BadMessageId"),
        Case(
            changes: ["apns-id": "0F8FAD5B-D9CB-469F-A165-70867728950E"],
            status: 400,
            reason: "BadMessageId"
        ),
        Case(changes: ["apns-topic": String?.none], status: 400, reason: "MissingTopic"),
        Case(changes: ["apns-topic": "org.other"], status: 400, reason: "TopicDisallowed"),
        Case(changes: ["apns-push-type": "shout"], status: 400, reason: "InvalidPushType"),
        Case(changes: ["apns-push-type": "background"], status: 400, reason: "BadPriority"),
        Case(changes: ["apns-priority": "7"], status: 400, reason: "BadPriority"),
        Case(changes: ["apns-expiration": "soon"], status: 400, reason: "BadExpirationDate"),
        Case(
            changes: ["apns-collapse-id": String(repeating: "x", count: 65)],
            status: 400,
            reason: "BadCollapseId"
        ),
        Case(changes: [:], status: 400, reason: "PayloadEmpty", body: ""),
        Case(changes: [:], status: 400, reason: "PayloadEmpty", body: "[1]"),
        Case(changes: [:], status: 400, reason: "PayloadEmpty", body: #"{"aps":}"#),
        Case(
            changes: [:],
            status: 413,
            reason: "PayloadTooLarge",
            body: #"{"aps":""# + String(repeating: "x", count: 4_096) + #""}"#
        ),
    ]

    @Test("each rule has its reason", arguments: cases)
    func refused(_ wrong: Case) async throws {
        let fixture = try await SimulatorFixture()
        let answer = try await fixture.answer(
            try fixture.request("00ff", body: wrong.body, wrong.changes)
        )
        #expect(answer.status == wrong.status)
        #expect(answer.reason == wrong.reason)
        #expect(answer.headers["content-type"] == "application/json")
        #expect(answer.headers["apns-id"] != nil)
        await fixture.stop()
    }

    @Test("limits are exact: 4096 bytes, 5120 for voip, 64 bytes of collapse id")
    func limits() async throws {
        let fixture = try await SimulatorFixture()
        func payload(_ bytes: Int) -> String {
            let frame = #"{"aps":{},"x":""}"#
            return #"{"aps":{},"x":""# + String(repeating: "y", count: bytes - frame.utf8.count)
                + #""}"#
        }
        let connection = try await fixture.connect()
        let collapse = ["apns-collapse-id": String(repeating: "c", count: 64)]
        let voip = ["apns-push-type": "voip", "apns-topic": "app.example.voip"]
        for (body, changes, status) in [
            (payload(4_096), collapse, 200), (payload(4_097), [:], 413),
            (payload(5_120), voip, 200), (payload(5_121), voip, 413),
        ] {
            let request = try fixture.request("00ff", body: body, changes)
            #expect(await fixture.send(request, on: connection).status == status)
        }
        connection.shutDown()
        await fixture.stop()
    }

    @Test("a field sent twice")
    func duplicates() async throws {
        let fixture = try await SimulatorFixture()
        var request = try fixture.request()
        request.headers.append(HTTP2Field("apns-topic", "app.example"))
        #expect(try await fixture.answer(request).reason == "DuplicateHeaders")
        await fixture.stop()
    }
}
