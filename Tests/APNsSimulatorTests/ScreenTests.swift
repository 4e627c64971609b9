import APNsSimulator
import FoundationEssentials
import HTTP2
import HTTPClient
import Testing

/// What a phone shows in the end.
@Suite(.timeLimit(.minutes(1)))
struct ScreenTests {
    private struct Entry: Decodable, Equatable {
        var collapse_id: String?
        var text: String
    }

    private func screen(_ fixture: SimulatorFixture) async throws -> [Entry] {
        struct Body: Decodable { var screen: [Entry] }
        let reply = try await fixture.call("GET", "/tokens/00ff/screen")
        return try JSONDecoder().decode(Body.self, from: Data(reply.body)).screen
    }

    @Test("Collapsed alerts, extension in time, too late and not asked")
    func shown() async throws {
        let fixture = try await SimulatorFixture()
        let phone = StreamReader()
        let listening = Task {
            try? await fixture.control.stream(
                HTTPClientRequest(
                    url: "http://127.0.0.1:\(fixture.port("http"))/tokens/00ff/stream"
                ),
                onChunk: { phone.take($0) }
            )
        }
        await phone.wait(for: "listening")
        let connection = try await fixture.connect()
        let mutable = #"{"aps":{"alert":{"title":"t","body":"b"},"mutable-content":1}}"#
        let sent: [(String, String?)] = [
            (mutable, "a"), (#"{"aps":{"alert":"plain"}}"#, "b"),
            (#"{"aps":{"content-available":1}}"#, nil), (#"{"aps":{"sound":"default"}}"#, nil),
            (mutable, "a"), (#"{"aps":{"alert":{"loc-key":"k"},"mutable-content":1}}"#, nil),
        ]
        for (body, collapseID) in sent {
            let request = try fixture.request("00ff", body: body, ["apns-collapse-id": collapseID])
            #expect(await fixture.send(request, on: connection).status == 200)
        }
        let plain = Entry(collapse_id: "b", text: "original")
        #expect(
            try await screen(fixture) == [
                plain, Entry(collapse_id: "a", text: "decrypted"), Entry(text: "decrypted"),
            ]
        )
        try await fixture.call("PUT", "/tokens/00ff", #"{"extension":"times_out"}"#)
        try await fixture.call("POST", "/clock", #"{"frozen":true}"#)
        #expect(try await screen(fixture).map(\.text) == ["original", "pending", "pending"])
        try await fixture.call("POST", "/clock", #"{"advance_ms":30000}"#)
        #expect(try await screen(fixture).map(\.text) == ["original", "timed_out", "timed_out"])
        try await fixture.call("PUT", "/tokens/00ff", #"{"extension":"absent"}"#)
        #expect(try await screen(fixture).map(\.text) == ["original", "original", "original"])
        listening.cancel()
        _ = await listening.value
        connection.shutDown()
        await fixture.stop()
    }

    @Test("What is kept for a phone that is away ends with its expiration, at most 30 days later")
    func kept() async throws {
        let fixture = try await SimulatorFixture()
        let connection = try await fixture.connect()
        let expiration = String(Int64(Date.now.timeIntervalSince1970) + 600)
        for (token, changes) in [
            ("00ff", ["apns-expiration": expiration]), ("11ff", [:]), ("22ff", [:]),
        ] {
            let request = try fixture.request(token, changes)
            #expect(await fixture.send(request, on: connection).status == 200)
        }
        connection.shutDown()
        func comes(_ token: String) async throws -> Bool {
            let phone = StreamReader()
            let listening = Task {
                try? await fixture.control.stream(
                    HTTPClientRequest(
                        url: "http://127.0.0.1:\(fixture.port("http"))/tokens/\(token)/stream"
                    ),
                    onChunk: { phone.take($0) }
                )
            }
            await phone.wait(for: "listening")
            let isDelivered = try await fixture.received(token).map(\.delivered) == [true]
            listening.cancel()
            _ = await listening.value
            return isDelivered
        }
        try await fixture.call("POST", "/clock", #"{"advance_ms":601000}"#)
        #expect(try await !comes("00ff"))
        #expect(try await comes("11ff"))
        try await fixture.call("POST", "/clock", #"{"advance_ms":2592000000}"#)
        #expect(try await !comes("22ff"))
        await fixture.stop()
    }

    @Test("A removed app: the time and the reason of 410 can be set, as before a registration")
    func removed() async throws {
        let fixture = try await SimulatorFixture()
        let removal = #"{"at_ms":1700000000000,"reason":"ExpiredToken"}"#
        try await fixture.call("DELETE", "/tokens/00ff", removal)
        let gone = try await fixture.answer(try fixture.request())
        #expect(gone.status == 410 && gone.reason == "ExpiredToken")
        #expect(gone.timestamp == 1_700_000_000_000)
        await fixture.stop()
    }
}
