import APNsSimulator
import Contracts
import FoundationEssentials
import HTTP2
import TestKit
import Testing

/// Limits of a token, of chance and of what the control API takes.
@Suite(.timeLimit(.minutes(1)))
struct LimitTests {
    @Test("Too many requests to one token are refused until its window has passed")
    func perToken() async throws {
        let fixture = try await SimulatorFixture {
            $0.settings = #"{"requests_per_token":3,"token_window_ms":600000}"#
        }
        let connection = try await fixture.connect()
        for expected in [200, 200, 200, 429] {
            let answer = await fixture.send(try fixture.request(), on: connection)
            #expect(answer.status == expected)
            if expected == 429 { #expect(answer.reason == "TooManyRequests") }
        }
        // Other tokens have their own count.
        #expect(await fixture.send(try fixture.request("11ff"), on: connection).status == 200)
        try await fixture.call("POST", "/clock", #"{"advance_ms":600000}"#)
        #expect(await fixture.send(try fixture.request(), on: connection).status == 200)
        connection.shutDown()
        await fixture.stop()
    }

    @Test("A mixed script draws by its seed, the same way each time")
    func mix() async throws {
        var runs: [[Int?]] = []
        for _ in 0..<2 {
            let fixture = try await SimulatorFixture {
                $0.settings = #"{"seed":7}"#
                $0.script = """
                    {"mix":[{"reason":"ServiceUnavailable","per_million":300000},
                      {"reason":"TooManyRequests","per_million":200000}]}
                    """
            }
            let connection = try await fixture.connect()
            var statuses: [Int?] = []
            for _ in 0..<100 {
                statuses.append(await fixture.send(try fixture.request(), on: connection).status)
            }
            connection.shutDown()
            await fixture.stop()
            runs.append(statuses)
        }
        #expect(runs[0] == runs[1])
        let counts = [200, 503, 429].map { status in runs[0].count { $0 == status } }
        #expect(counts[0] > 30 && counts[1] > 15 && counts[2] > 8 && counts.reduce(0, +) == 100)
    }

    @Test("Delays lie between their bounds")
    func delays() async throws {
        let fixture = try await SimulatorFixture {
            $0.settings = #"{"delay_ms":20,"maximum_delay_ms":40}"#
        }
        let connection = try await fixture.connect()
        let start = ContinuousClock.now
        for _ in 0..<5 {
            #expect(await fixture.send(try fixture.request(), on: connection).status == 200)
        }
        #expect(ContinuousClock.now - start >= .milliseconds(100))
        connection.shutDown()
        await fixture.stop()
    }

    @Test("The clock can stand still, be set and go on")
    func clock() async throws {
        struct Clock: Decodable, Equatable {
            var now_ms: Int64
            var frozen: Bool
        }
        let fixture = try await SimulatorFixture()
        func clock(_ method: String, _ body: String = "") async throws -> Clock {
            let reply = try await fixture.call(method, "/clock", body)
            #expect(reply.status == 200)
            return try JSONDecoder().decode(Clock.self, from: Data(reply.body))
        }
        let set = try await clock("POST", #"{"frozen":true,"now_ms":1700000000000}"#)
        #expect(set == Clock(now_ms: 1_700_000_000_000, frozen: true))
        #expect(try await clock("GET") == set)
        let moved = try await clock("POST", #"{"advance_ms":-1000}"#)
        #expect(moved == Clock(now_ms: 1_699_999_999_000, frozen: true))
        // The sender's token is of today, which is far ahead of that clock.
        #expect(try await fixture.answer(try fixture.request()).reason == "ExpiredProviderToken")
        let running = try await clock("POST", #"{"frozen":false}"#)
        #expect(running.now_ms >= 1_699_999_999_000 && running.now_ms < 1_700_000_100_000)
        await fixture.stop()
    }

    private static let garbage: [(String, String, String)] = [
        ("POST", "/tokens", "["), ("POST", "/tokens", #"{"environment":"moon"}"#),
        ("PUT", "/tokens/00ff", "null"), ("PUT", "/tokens/00ff", #"{"extension":"no"}"#),
        ("DELETE", "/tokens/00ff", #"{"reason":"Shutdown"}"#),
        ("DELETE", "/tokens/00ff", #"{"at_ms":"now"}"#), ("PUT", "/script", "\u{0}"),
        ("PUT", "/script", #"{"outcomes":{}}"#), ("PUT", "/script", "{}"),
        ("PUT", "/script", #"{"outcomes":[{"action":"dance"}]}"#),
        ("PUT", "/script", #"{"outcomes":[{"code":"NO_SUCH"}]}"#),
        ("PUT", "/script", #"{"outcomes":[{"count":-1}]}"#),
        ("PUT", "/script", #"{"outcomes":[{"retry_after":"1\n2"}]}"#),
        ("PUT", "/script", #"{"mix":[{"per_million":1000001}]}"#),
        ("PUT", "/script", #"{"mix":[{"per_million":600000},{"per_million":600000}]}"#),
        ("PUT", "/script", #"{"mix":[{"early":true,"per_million":1}]}"#),
        ("PATCH", "/settings", "7"), ("PATCH", "/settings", #"{"delay_ms":-1}"#),
        ("PATCH", "/settings", #"{"delay_ms":null}"#),
        ("PATCH", "/settings", #"{"certificate":"golden"}"#),
        ("PATCH", "/settings", #"{"minimum_tls":"1.3","maximum_tls":"1.2"}"#),
        ("PATCH", "/settings", #"{"stream_window_bytes":99999999999}"#),
        ("POST", "/clock", #"{"advance_ms":9223372036854775807}"#),
        ("POST", "/clock", #"{"now_ms":-1}"#), ("POST", "/clock", "true"),
        ("POST", "/connections/goaway", #"{"code":"CALM"}"#),
        ("POST", "/connections/goaway", #"{"last_stream":-5}"#),
        ("POST", "/connections/pings", #"{"count":0}"#), ("POST", "/keys", "\"key\""),
        ("POST", "/keys", #"{"key_id":"short"}"#), ("POST", "/keys", #"{"topics":[]}"#),
        ("POST", "/keys", #"{"environments":[]}"#), ("PUT", "/teams/ABCDEFGHIJ", "{}"),
        ("PUT", "/teams/lowercase1", #"{"bundle_ids":["a"]}"#),
        ("GET", "/tokens/00ff/received?environment=", ""),
    ]

    @Test("What makes no sense is answered 400 with the reason, and changes nothing")
    func wrongBodies() async throws {
        let fixture = try await SimulatorFixture()
        let before = try await fixture.call("GET", "/settings").body
        for (method, path, body) in Self.garbage {
            let reply = try await fixture.call(method, path, body)
            #expect(reply.status == 400, "\(method) \(path) \(body)")
            #expect(String(decoding: reply.body, as: UTF8.self).hasPrefix(#"{"error":""#))
        }
        let long = String(repeating: #"{"status":500},"#, count: 1_001).dropLast()
        #expect(try await fixture.call("PUT", "/script", #"{"outcomes":[\#(long)]}"#).status == 400)
        #expect(try await fixture.call("GET", "/settings").body == before)
        #expect(try await fixture.answer(try fixture.request()).status == 200)
        await fixture.stop()
    }

    @Test("Keys and devices are bounded")
    func bounds() async throws {
        let fixture = try await SimulatorFixture { $0.maximumDevices = 100 }
        let connection = try await fixture.connect()
        for number in 0..<250 {
            let token = String(number + 4_096, radix: 16)
            #expect(await fixture.send(try fixture.request(token), on: connection).status == 200)
        }
        struct Counts: Decodable { var devices: Int }
        let reply = try await fixture.call("GET", "/statistics")
        let devices = try JSONDecoder().decode(Counts.self, from: Data(reply.body)).devices
        #expect((80...100).contains(devices))
        // The latest ones are those that stay.
        #expect(try await fixture.received(String(249 + 4_096, radix: 16)).count == 1)
        #expect(try await fixture.received("1000").isEmpty)
        let teams = (0..<100).map { "TEAM" + String(100_000 + $0) }
        var last = 204
        for team in teams {
            last = try await fixture.call("PUT", "/teams/\(team)", #"{"bundle_ids":["a"]}"#).status
        }
        #expect(last == 409)
        connection.shutDown()
        await fixture.stop()
    }

    @Test("Header fields beyond what a request can need cost the stream, not the connection")
    func manyFields() async throws {
        let fixture = try await SimulatorFixture()
        let connection = try await fixture.connect()
        var request = try fixture.request()
        // 60 fields fit into one block of the client; two values of 32 KiB do not fit here.
        request.headers.append(HTTP2Field("x-filler", String(repeating: "f", count: 20_000)))
        #expect(await fixture.send(request, on: connection).status == 200)
        #expect(await fixture.send(try fixture.request(), on: connection).status == 200)
        connection.shutDown()
        await fixture.stop()
    }
}
