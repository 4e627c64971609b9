import APNsSimulator
import FoundationEssentials
import HTTP2
import HTTPClient
import Loop
import Testing

@Suite(.timeLimit(.minutes(1)))
struct DeviceTests {
    @Test("issued tokens belong to an environment and a topic")
    func registry() async throws {
        let fixture = try await SimulatorFixture { $0.bundleIDs = ["app.example", "app.second"] }
        struct Issued: Decodable { var token: String }
        let reply = try await fixture.call("POST", "/tokens", #"{"topic":"app.example"}"#)
        #expect(reply.status == 201)
        let token = try JSONDecoder().decode(Issued.self, from: Data(reply.body)).token
        #expect(try await fixture.answer(try fixture.request(token)).status == 200)
        let elsewhere = try await fixture.answer(
            try fixture.request(token),
            environment: "production"
        )
        #expect(elsewhere.reason == "BadDeviceToken")
        let other = try fixture.request(token, ["apns-topic": "app.second"])
        #expect(try await fixture.answer(other).reason == "DeviceTokenNotForTopic")
        await fixture.stop()
    }

    @Test("a removed app answers 410 with its time, a new registration lives again")
    func unregistered() async throws {
        let fixture = try await SimulatorFixture()
        try await fixture.call("PUT", "/tokens/00ff")
        try await fixture.call("DELETE", "/tokens/00ff")
        let gone = try await fixture.answer(try fixture.request("00FF"))
        #expect(gone.status == 410 && gone.reason == "Unregistered")
        #expect((gone.timestamp ?? 0) > 1_600_000_000_000)
        try await fixture.call("PUT", "/tokens/00ff")
        #expect(try await fixture.answer(try fixture.request("00ff")).status == 200)
        await fixture.stop()
    }

    @Test("unknown tokens are accepted unless they shall not be")
    func unknown() async throws {
        let fixture = try await SimulatorFixture()
        #expect(try await fixture.answer(try fixture.request("0a0b")).status == 200)
        try await fixture.call("PATCH", "/settings", #"{"reject_unknown_tokens":true}"#)
        #expect(try await fixture.answer(try fixture.request("0c0d")).reason == "BadDeviceToken")
        await fixture.stop()
    }

    @Test("what a token received can be looked at, oldest first")
    func received() async throws {
        let fixture = try await SimulatorFixture()
        let connection = try await fixture.connect()
        for number in 1...3 {
            let request = try fixture.request(
                "00ff",
                body: #"{"aps":{},"n":\#(number)}"#,
                ["apns-collapse-id": "c\(number)", "apns-expiration": "0"]
            )
            #expect(await fixture.send(request, on: connection).status == 200)
        }
        let all = try await fixture.received("00ff")
        #expect(all.map(\.payload) == (1...3).map { #"{"aps":{},"n":\#($0)}"# })
        #expect(all.map(\.collapse_id) == ["c1", "c2", "c3"])
        #expect(all.allSatisfy { !$0.delivered && $0.topic == "app.example" })
        let last = try await fixture.received("00ff", "?after=\(all[1].number)")
        #expect(last.count == 1)
        #expect(try await fixture.received("00ff", "?environment=production").isEmpty)
        connection.shutDown()
        await fixture.stop()
    }

    @Test("a phone that was away gets the latest one, then everything")
    func stream() async throws {
        let fixture = try await SimulatorFixture()
        let connection = try await fixture.connect()
        func send(_ text: String, _ changes: [String: String?] = [:]) async throws {
            let request = try fixture.request("00ff", body: #"{"aps":{},"n":"\#(text)"}"#, changes)
            #expect(await fixture.send(request, on: connection).status == 200)
        }
        try await send("lost")
        try await send("kept")
        try await send("one attempt", ["apns-expiration": "0"])
        let phone = StreamReader()
        let listening = Task {
            try? await fixture.control.stream(
                HTTPClientRequest(
                    url: "http://127.0.0.1:\(fixture.port("http"))/tokens/00ff/stream"
                ),
                onChunk: { phone.take($0) }
            )
        }
        await phone.wait(for: #""n\":\"kept\"#)
        try await send("live")
        await phone.wait(for: #""n\":\"live\"#)
        let text = phone.text
        #expect(text.hasPrefix("event: listening\ndata: {\"run\":\""))
        #expect(!text.contains("lost") && !text.contains("one attempt"))
        let states = try await fixture.received("00ff").map(\.delivered)
        #expect(states == [false, true, false, true])
        listening.cancel()
        _ = await listening.value
        connection.shutDown()
        await fixture.stop()
    }

    @Test("the oldest notifications are forgotten first")
    func bounded() async throws {
        let fixture = try await SimulatorFixture { $0.keptNotifications = 10 }
        let connection = try await fixture.connect()
        for _ in 0..<25 {
            #expect(await fixture.send(try fixture.request(), on: connection).status == 200)
        }
        #expect(try await fixture.received("00ff").map(\.number) == Array(16...25))
        connection.shutDown()
        await fixture.stop()
    }
}

/// Collects the text of a stream and tells when something has come.
final class StreamReader: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        var waiter: (wanted: String, continuation: CheckedContinuation<Void, Never>)?
    }

    private let state = Locked(State())

    var text: String { state.withLock { String(decoding: $0.bytes, as: UTF8.self) } }

    func take(_ chunk: [UInt8]) -> Bool {
        let woken = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.bytes += chunk
            guard let waiter = state.waiter,
                String(decoding: state.bytes, as: UTF8.self).contains(waiter.wanted)
            else { return nil }
            state.waiter = nil
            return waiter.continuation
        }
        woken?.resume()
        return true
    }

    func wait(for wanted: String) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if String(decoding: state.bytes, as: UTF8.self).contains(wanted) { return true }
                state.waiter = (wanted, continuation)
                return false
            }
            if isThere { continuation.resume() }
        }
    }
}
