import APNsSimulator
import HTTP2
import Loop
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ScriptTests {
    @Test("outcomes are used up in order, then answers are ordinary")
    func order() async throws {
        let fixture = try await SimulatorFixture()
        let reply = try await fixture.call(
            "PUT",
            "/tokens/00ff/script",
            """
            {"outcomes":[
              {"reason":"TooManyRequests","retry_after":"7"},
              {"action":"reset","code":"REFUSED_STREAM"},
              {"status":503,"reason":"Unheard","frame_bytes":3,"omit_apns_id":true},
              {"reason":"Unregistered","timestamp":1700000000000,"count":2},
              {"status":500,"body":"<html>"}]}
            """
        )
        #expect(reply.status == 204)
        let connection = try await fixture.connect()
        let request = try fixture.request()
        var answers: [Answer] = []
        for _ in 0..<7 { answers.append(await fixture.send(request, on: connection)) }
        #expect(answers[0].status == 429 && answers[0].headers["retry-after"] == "7")
        #expect(answers[1].outcome == .notSent(.refused))
        #expect(answers[2].status == 503 && answers[2].reason == "Unheard")
        #expect(answers[2].headers["apns-id"] == nil)
        #expect(answers[3].status == 410 && answers[3].timestamp == 1_700_000_000_000)
        #expect(answers[4].status == 410)
        #expect(answers[5].status == 500 && answers[5].reason == nil)
        #expect(answers[6].status == 200)
        // Only the accepted one reached the phone, and other tokens were not concerned.
        #expect(try await fixture.received("00ff").count == 1)
        connection.shutDown()
        await fixture.stop()
    }

    @Test("a common script concerns tokens without one, for ever with count 0")
    func common() async throws {
        let fixture = try await SimulatorFixture()
        try await fixture.call(
            "PUT",
            "/script",
            #"{"outcomes":[{"reason":"ServiceUnavailable","count":0}]}"#
        )
        let connection = try await fixture.connect()
        for token in ["00", "11", "00"] {
            let answer = await fixture.send(try fixture.request(token), on: connection)
            #expect(answer.status == 503)
        }
        try await fixture.call("DELETE", "/script")
        #expect(await fixture.send(try fixture.request(), on: connection).status == 200)
        connection.shutDown()
        await fixture.stop()
    }

    @Test("silence, a cut connection and an early answer")
    func transport() async throws {
        let fixture = try await SimulatorFixture { $0.streamWindowBytes = 100 }
        try await fixture.call(
            "PUT",
            "/script",
            """
            {"outcomes":[{"action":"silence"},{"reason":"PayloadTooLarge","early":true},
              {"action":"close"}]}
            """
        )
        let connection = try await fixture.connect()
        let request = try fixture.request()
        let silent = await connection.send(request, timeout: .milliseconds(50))
        #expect(silent == .ambiguous(.timeout, status: nil))
        let long = try fixture.request("00ff", body: String(repeating: "x", count: 4_000))
        #expect(await connection.waitForCapacity(timeout: .seconds(10)))
        #expect(await fixture.send(long, on: connection).status == 413)
        #expect(await connection.waitForCapacity(timeout: .seconds(10)))
        let cut = await fixture.send(request, on: connection)
        #expect(cut.outcome == .ambiguous(.connectionLost, status: nil))
        await fixture.stop()
    }

    @Test("GOAWAY: unprocessed, processed, graceful, and from the control API")
    func goAway() async throws {
        let fixture = try await SimulatorFixture()
        try await fixture.call(
            "PUT",
            "/script",
            """
            {"outcomes":[{"action":"goaway","reason":"BadCertificateEnvironment"},
              {"action":"goaway","reason":"Shutdown","processed":true},
              {"action":"goaway","reason":"Shutdown","graceful":true}]}
            """
        )
        let request = try fixture.request()
        for expected in [HTTP2Outcome.notSent(.refused), nil, nil] {
            let connection = try await fixture.connect()
            let answer = await fixture.send(request, on: connection)
            if let expected {
                #expect(answer.outcome == expected)
            } else {
                #expect(answer.status == 200)
            }
            let goAway = await fixture.goAway(of: connection)
            let text = String(decoding: goAway?.debugData ?? [], as: UTF8.self)
            #expect(text.hasPrefix(#"{"reason":""#))
        }
        let connection = try await fixture.connect()
        #expect(await fixture.send(request, on: connection).status == 200)
        try await fixture.call("POST", "/connections/goaway", #"{"reason":"Shutdown"}"#)
        // An idle client sees the notice of a graceful end and leaves.
        #expect(await fixture.goAway(of: connection)?.lastStreamID == .max)
        await fixture.stop()
    }

    @Test("the stream limit starts at one, follows rejections down and acceptances up")
    func throttle() async throws {
        let fixture = try await SimulatorFixture { $0.maximumStreams = 20 }
        try await fixture.call("PATCH", "/settings", #"{"throttle_after_rejection":true}"#)
        let connection = try await fixture.connect()
        func limit() async -> Int {
            _ = await connection.ping(timeout: .seconds(10))
            return await fixture.limit(of: connection)
        }
        #expect(await limit() == 1)
        #expect(await fixture.send(try fixture.request(), on: connection).status == 200)
        #expect(await limit() == 20)
        #expect(await fixture.send(try fixture.request("zz"), on: connection).status == 400)
        #expect(await limit() == 1)
        #expect(await fixture.send(try fixture.request(), on: connection).status == 200)
        #expect(await limit() == 20)
        connection.shutDown()
        await fixture.stop()
    }

    @Test("wrong calls of the control API say what is right")
    func wrongCalls() async throws {
        let fixture = try await SimulatorFixture()
        for (method, path, body, status) in [
            ("PUT", "/script", "{", 400), ("PUT", "/script", #"{"outcomes":[{"status":9}]}"#, 400),
            ("PATCH", "/settings", #"{"no_such":1}"#, 400), ("GET", "/nothing", "", 404),
            ("PUT", "/tokens/xyz", "", 400), ("POST", "/tokens/00ff", "", 405),
            ("GET", "/tokens/00ff/received?environment=moon", "", 400),
        ] {
            let reply = try await fixture.call(method, path, body)
            #expect(reply.status == status, "\(method) \(path)")
            #expect(String(decoding: reply.body, as: UTF8.self).hasPrefix(#"{"error":""#))
        }
        await fixture.stop()
    }
}
