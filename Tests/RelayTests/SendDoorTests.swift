import Bus
import Contracts
import HTTP2
import HTTPClient
import RelayCore
import ServiceKit
import TestKit
import Testing

/// What strangers may try at the public endpoint.
@Suite("POST /v1/send: the door", .timeLimit(.minutes(1)))
struct SendDoorTests {
    private static let proxied = [
        "HTTP_TRUSTED_PROXY": "true", "HTTP_SOURCE_HEADER": "X-Forwarded-For",
    ]

    private func send(
        _ relay: RelayFixture,
        from sources: [String],
        token: String = "aa"
    ) async throws -> HTTPClientResponse {
        try await relay.post(
            Array(SendRequestTests.body(["device_token": "\"\(token)\""]).utf8),
            headers: [("Content-Type", "application/json")]
                + sources.map { ("X-Forwarded-For", $0) }
        )
    }

    @Test("A full map of sources turns new ones away and keeps serving those it knows")
    func manySources() async throws {
        let relay = try await RelayFixture(
            Self.proxied.merging(["LIMIT_ENTRIES": "64", "LIMIT_INSTANCE": "10000"]) { $1 }
        )
        for number in 0..<64 {
            let reply = try await send(relay, from: ["10.0.0.\(number)"], token: "\(number + 10)")
            #expect(reply.status == 200)
        }
        let stranger = try await send(relay, from: ["10.0.1.1"])
        #expect(stranger.status == 429)
        #expect(stranger.reason == "RateLimited")
        #expect(stranger.header("Retry-After") == "60")
        #expect(try await send(relay, from: ["10.0.0.5"], token: "15").status == 200)
        relay.time.advance(by: .seconds(61))
        #expect(try await send(relay, from: ["10.0.1.1"]).status == 200)
        try await relay.stop()
    }

    @Test("A full map of targets turns new ones away and keeps serving those it knows")
    func manyTargets() async throws {
        let relay = try await RelayFixture([
            "LIMIT_ENTRIES": "64", "LIMIT_INSTANCE": "10000", "LIMIT_SOURCE": "10000",
        ])
        for number in 0..<64 {
            let body = SendRequestTests.body(["device_token": "\"\(number + 10)\""])
            #expect(try await relay.post(body).status == 200)
        }
        let stranger = SendRequestTests.body(["device_token": "\"abcd\""])
        #expect(try await relay.post(stranger).status == 429)
        let known = SendRequestTests.body(["device_token": "\"15\""])
        #expect(try await relay.post(known).status == 200)
        try await relay.stop()
    }

    @Test("One IPv6 network is one source, whatever address of it is used")
    func networks() async throws {
        let relay = try await RelayFixture(Self.proxied.merging(["LIMIT_SOURCE": "2"]) { $1 })
        #expect(try await send(relay, from: ["2001:db8:1:2::1"]).status == 200)
        #expect(try await send(relay, from: ["2001:db8:1:2:ffff::9"]).status == 200)
        #expect(try await send(relay, from: ["2001:db8:1:2:aaaa:bbbb:cccc:dddd"]).status == 429)
        #expect(try await send(relay, from: ["2001:db8:1:3::1"]).status == 200)
        try await relay.stop()
    }

    @Test("Of what a client claims about itself only the proxy's own word counts")
    func forwarded() async throws {
        let relay = try await RelayFixture(Self.proxied.merging(["LIMIT_SOURCE": "3"]) { $1 })
        // The proxy appends the address it sees: what stands before it is the client's.
        #expect(try await send(relay, from: ["1.1.1.1, 9.9.9.9"]).status == 200)
        #expect(try await send(relay, from: ["2.2.2.2", "9.9.9.9"]).status == 200)
        #expect(try await send(relay, from: ["9.9.9.8,::ffff:9.9.9.9"]).status == 200)
        #expect(try await send(relay, from: ["3.3.3.3, 9.9.9.9"]).status == 429)
        #expect(try await send(relay, from: ["9.9.9.9, 4.4.4.4"]).status == 200)
        // Whatever is no address shares one place.
        let odd = ["4.4.4.4, ", "localhost", String(repeating: "a", count: 5_000), "9.9.9.9:80"]
        for (index, text) in odd.enumerated() {
            #expect(try await send(relay, from: [text]).status == (index < 3 ? 200 : 429))
        }
        #expect(try await send(relay, from: []).status == 429)
        try await relay.stop()
    }

    @Test("Without a declared proxy no header changes the source")
    func undeclared() async throws {
        let relay = try await RelayFixture(["LIMIT_SOURCE": "2"])
        for number in 0..<3 {
            let reply = try await send(relay, from: ["10.0.0.\(number)"])
            #expect(reply.status == (number < 2 ? 200 : 429))
        }
        try await relay.stop()
    }

    @Test("An upload that is too slow is answered 408, retryable, and holds no place")
    func slow() async throws {
        let relay = try await RelayFixture([
            "HTTP_UPLOAD_TIMEOUT": "200ms", "LIMIT_CONCURRENT": "1",
        ])
        let client = try RawClient(port: relay.port)
        let body = SendRequestTests.body()
        try await client.send(
            "POST /v1/send HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body.prefix(50))"
        )
        let reply = try await client.receive(until: "device_invalid")
        #expect(reply.hasPrefix("HTTP/1.1 408 "))
        #expect(reply.contains(#"{"outcome":"retryable","reason":"RequestTimeout""#))
        // Its place comes back with the end of its connection.
        var status = 503
        while status == 503 { status = try await relay.post(body).status }
        #expect(status == 200)
        #expect(relay.apns.seen.value.count == 1)
        try await relay.stop()
    }

    @Test("How large a body may be is a setting", arguments: [nil, 4_098, 32_768])
    func bodySize(limit: Int?) async throws {
        let relay = try await RelayFixture(limit.map { ["LIMIT_BODY": "\($0)"] } ?? [:])
        let body = SendRequestTests.body()
        let room = (limit ?? 8_192) - body.utf8.count
        let fitting = body + String(repeating: " ", count: room)
        #expect(try await relay.post(fitting).status == 200)
        #expect(try await relay.post(fitting + " ").status == 413)
        try await relay.stop()
    }

    @Test(
        "How far ahead a message may expire is a setting of both ways in",
        arguments: [60, 7_200]
    )
    func horizon(seconds: Int) async throws {
        let relay = try await RelayFixture(["LIMIT_HORIZON": "\(seconds)"])
        let client = try relay.busClient()
        for (ahead, isAllowed) in [(seconds, true), (seconds + 1, false)] {
            let expiresAt = 2_000_000_000 + ahead
            let reply = try await relay.post(
                SendRequestTests.body(["expires_at": "\(expiresAt)"])
            )
            #expect(reply.status == (isAllowed ? 200 : 400))
            let outcomes = Observed([Outcome]())
            let message = try relay.message(1, expiresAt: Int64(expiresAt))
            try await client.stream(
                RelaySend(messages: [message]),
                timeout: .seconds(20)
            ) { answer in
                outcomes.update { $0 += answer.verdicts.map(\.outcome) }
                return !answer.last
            }
            #expect(outcomes.value == [isAllowed ? .accepted : .permanent])
        }
        client.stop()
        try await relay.stop()
    }

    @Test("A body in chunks is counted as it comes, and cut when it does not end")
    func endless() async throws {
        let relay = try await RelayFixture()
        let client = try RawClient(port: relay.port)
        try await client.send(
            "POST /v1/send HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n"
        )
        let chunk = "1000\r\n" + String(repeating: "a", count: 4096) + "\r\n"
        for _ in 0..<40 { try await client.send(chunk) }
        // Beyond 64 KiB nobody listens any more: the connection ends without a word.
        #expect(try await client.receive(until: "HTTP/1.1 ").isEmpty)
        #expect(try await relay.post(SendRequestTests.body()).status == 200)
        try await relay.stop()
    }

    /// Heads that two readers may take in two ways; the body's length goes in place of `#`.
    static let ambiguous = [
        "Content-Length: #\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        "Content-Length: #\r\nContent-Length: 900\r\n",
        "Content-Length: #\r\nContent-Length: #\r\n",
        "Content-Length: #, #\r\n", "Content-Length: +#\r\n", "Content-Length: -1\r\n",
        "Content-Length: 0x#\r\n", "Content-Length: #a\r\n", "Content-Length: \r\n",
        "Content-Length: 99999999999999999999\r\n", "Content-Length : #\r\n",
        "Transfer-Encoding: identity\r\nContent-Length: #\r\n",
        "Transfer-Encoding: gzip, chunked\r\n", "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "Transfer-Encoding : chunked\r\nContent-Length: #\r\n",
        "Transfer-Encoding:\r\n chunked\r\nContent-Length: #\r\n",
        "Transfer-Encoding: \u{b}chunked\r\n",
        "Host: y\r\nContent-Length: #\r\n",
        "X-Odd: a\rContent-Length: 4\r\nContent-Length: #\r\n",
    ]

    @Test("A request cannot hide in the body of another")
    func hidden() async throws {
        let relay = try await RelayFixture(["LIMIT_SOURCE": "1000"])
        let port = relay.port
        let replies = try await withThrowingTaskGroup(of: (String, String).self) { group in
            for fields in Self.ambiguous {
                group.addTask { (fields, try await Self.replies(toHidden: fields, at: port)) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for (fields, text) in replies {
            let status = text.dropFirst("HTTP/1.1 ".count).prefix(3)
            #expect(["400", "413", "501"].contains(status), "\(fields) \(text)")
        }
        #expect(relay.apns.seen.value.isEmpty)
        try await relay.stop()
    }

    @Test("A stop waits until the deadline of what APNs does not answer: it may have arrived")
    func stoppingInSilence() async throws {
        let relay = try await RelayFixture(["APNS_DEADLINE": "700ms"]) { _, _ in }
        async let reply = relay.post(SendRequestTests.body())
        await relay.apns.seen.wait { $0.count == 1 }
        relay.beginStop()
        let answered = try await reply
        #expect(answered.status == 200)
        #expect(answered.reason == "NetworkUnavailable")
        #expect(answered.header("PushBus-Exposure") == "ambiguous")
        try await relay.stop()
    }

    /// What the server says until it closes, to a request with these fields and one behind it.
    private static func replies(
        toHidden fields: String,
        at port: UInt16
    ) async throws -> String {
        let client = try RawClient(port: port)
        let hidden = SendRequestTests.body(["device_token": "\"bb\""])
        let body = SendRequestTests.body()
        let isChunked = fields.contains("chunked") && !fields.contains("#")
        let framed =
            isChunked ? String(body.utf8.count, radix: 16) + "\r\n\(body)\r\n0\r\n\r\n" : body
        let head = "POST /v1/send HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        let length = fields.replacing("#", with: String(body.utf8.count))
        try await client.send(
            head + length + "\r\n" + framed + head
                + "Content-Length: \(hidden.utf8.count)\r\n\r\n" + hidden
        )
        return try await client.receive(until: "never said")
    }

    @Test("Stopping lets APNs answer what is under way and tells the rest to come back")
    func stopping() async throws {
        let relay = try await RelayFixture { _, _ in }
        let bodies = (0..<5).map {
            SendRequestTests.body(["device_token": "\"0\($0)\""])
        }
        let replies = Observed([HTTPClientResponse]())
        async let all: Void = withThrowingDiscardingTaskGroup { group in
            for body in bodies {
                group.addTask {
                    let reply = try await relay.post(body)
                    replies.update { $0.append(reply) }
                }
            }
        }
        // One stream until the first success: the others wait.
        await relay.apns.seen.wait { $0.count == 1 }
        while relay.context.metrics.snapshot()[
            #"pushbus_relay_queued{environment="sandbox"}"#
        ] != 4 { try Task.checkCancellation() }
        relay.beginStop()
        await replies.wait { $0.count == 4 }
        for reply in replies.value {
            #expect(reply.status == 503)
            #expect(reply.reason == "RelayBusy")
            #expect(reply.text.contains(#""outcome":"retryable""#))
            #expect(reply.header("Retry-After") == "1")
        }
        let seen = try #require(relay.apns.seen.value.first)
        await relay.onAPNs { server in
            for connection in server.openConnections {
                connection.respond(seen.stream, HTTP2ServerResponse(status: 200))
            }
        }
        try await all
        #expect(replies.value.last?.status == 200)
        #expect(relay.apns.seen.value.count == 1)
        try await relay.stop()
    }
}
