import HTTPClient
import HTTPServer
import Loop
import TestKit
import Testing

@Suite(.timeLimit(.minutes(2)))
struct HTTPServerTests {
    @Test func answersWithBodyQueryAndHeaders() async throws {
        try await withServer { _, port, _ in
            let client = try HTTPClient()
            let reply = try await client.send(
                HTTPClientRequest(
                    method: "POST",
                    url: "http://127.0.0.1:\(port)/echo?q=a%20b",
                    body: Array("hello".utf8)
                )
            )
            #expect(reply.status == 200)
            #expect(reply.body == Array("hello".utf8))
            #expect(reply.header("x-query") == "a b")
            // A zero byte ends neither path nor value: `/none` alone would be refused.
            let zero = try await client.send(
                HTTPClientRequest(
                    method: "POST",
                    url: "http://127.0.0.1:\(port)/none%00/echo?q=a%00b%2",
                    body: []
                )
            )
            #expect(zero.status == 200)
            #expect(zero.header("x-query") == "a%00b%2")
            client.stop()
        }
    }

    @Test func refusesAPathBeforeTheBodyAndKeepsTheConnection() async throws {
        try await withServer { _, port, handler in
            let raw = try RawClient(port: port)
            try await raw.send("POST /none HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc")
            #expect(try await raw.receive(until: "no such path").contains("404"))
            try await raw.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc")
            #expect(try await raw.receive(until: "abc").contains("200"))
            await handler.ended.wait { $0 == 1 }
        }
    }

    @Test func refusesADeclaredOversizeAtOnce() async throws {
        try await withServer { server, port, handler in
            let raw = try RawClient(port: port)
            try await raw.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 8193\r\n\r\n")
            let reply = try await raw.receiveToEnd()
            #expect(reply?.contains("413") == true)
            #expect(reply?.contains("request_too_large") == true)
            await handler.ended.wait { $0 == 1 }
            #expect(server.statistics.refused[.bodyTooLarge] == 1)
        }
    }

    @Test func letsALargeUploadFinishAfterItsRefusal() async throws {
        try await withServer { _, port, _ in
            let client = try HTTPClient()
            for _ in 0..<20 {
                let reply = try await client.send(
                    HTTPClientRequest(
                        method: "POST",
                        url: "http://127.0.0.1:\(port)/echo",
                        body: [UInt8](repeating: 1, count: 5_000_000)
                    )
                )
                #expect(reply.status == 413)
            }
            client.stop()
        }
    }

    @Test func asksForTheBodyOnlyWhenItIsWanted() async throws {
        try await withServer { _, port, _ in
            let head = "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
            let wanted = try RawClient(port: port)
            try await wanted.send(head + "Content-Length: 3\r\n\r\n")
            #expect(try await wanted.receive(until: "100 Continue").contains("100 Continue"))
            try await wanted.send("abc")
            #expect(try await wanted.receive(until: "abc").contains("200"))
            let refused = try RawClient(port: port)
            try await refused.send(head + "Content-Length: 9000\r\n\r\n")
            let reply = try await refused.receive(until: "request_too_large")
            #expect(reply.hasPrefix("HTTP/1.1 413"))
        }
    }

    @Test func countsTheBodyWhileItStreams() async throws {
        try await withServer { _, port, _ in
            let exact = try RawClient(port: port)
            try await exact.send(chunked(total: 8192))
            #expect(try await exact.receive(until: "\r\n\r\n").contains("200"))

            let over = try RawClient(port: port)
            try await over.send(chunked(total: 8193))
            #expect(try await over.receive(until: "request_too_large").contains("413"))

            let far = try RawClient(port: port)
            try await far.send(chunked(total: 1_000_000))
            #expect(try await far.receiveToEnd() == "")
        }
    }

    @Test func answersASlowUploadWith408() async throws {
        var limits = HTTPServerLimits()
        limits.uploadTimeout = .milliseconds(150)
        try await withServer(limits: limits) { server, port, handler in
            let raw = try RawClient(port: port)
            try await raw.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
            let reply = try await raw.receiveToEnd()
            #expect(reply?.contains("408") == true)
            await handler.ended.wait { $0 == 1 }
            #expect(server.statistics.refused[.uploadTimeout] == 1)
        }
    }

    @Test func closesAConnectionThatSendsNoHead() async throws {
        var limits = HTTPServerLimits()
        limits.headTimeout = .milliseconds(150)
        try await withServer(limits: limits) { _, port, _ in
            let raw = try RawClient(port: port)
            try await raw.send("POST /echo HTTP/1.1\r\nHo")
            #expect(try await raw.receiveToEnd() == "")
        }
    }

    @Test func refusesALargeHead() async throws {
        try await withServer { _, port, _ in
            let raw = try RawClient(port: port)
            let padding = String(repeating: "a", count: 40_000)
            try await raw.send("GET / HTTP/1.1\r\nHost: x\r\nX-Padding: \(padding)\r\n\r\n")
            let reply = try await raw.receiveToEnd() ?? ""
            #expect(reply.contains("431") || reply.isEmpty)
        }
    }

    @Test func holdsConnectionsOverTheCapBack() async throws {
        var limits = HTTPServerLimits()
        limits.connections = 2
        try await withServer(limits: limits) { _, port, _ in
            var first: RawClient? = try RawClient(port: port)
            let second = try RawClient(port: port)
            for raw in [first, second] {
                try await raw?.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
                _ = try await raw?.receive(until: "200")
            }
            let third = try RawClient(port: port)
            try await third.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
            first = nil
            #expect(try await third.receive(until: "200").contains("200"))
        }
    }

    @Test func refusesWhatExceedsTheConcurrency() async throws {
        var limits = HTTPServerLimits()
        limits.concurrentRequests = 1
        try await withServer(limits: limits) { _, port, handler in
            let waiting = try RawClient(port: port)
            try await waiting.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
            await handler.waiting.wait { $0 == 1 }
            let refused = try RawClient(port: port)
            try await refused.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try await refused.receive(until: "busy").contains("503"))
            handler.gate.trigger()
            #expect(try await waiting.receive(until: "waited").contains("200"))
            await handler.ended.wait { $0 == 1 }
            try await refused.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try await refused.receive(until: "200").contains("200"))
        }
    }

    @Test func answersForAHandlerThatTakesTooLong() async throws {
        var limits = HTTPServerLimits()
        limits.requestTimeout = .milliseconds(150)
        try await withServer(limits: limits) { _, port, handler in
            let raw = try RawClient(port: port)
            try await raw.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try await raw.receive(until: "deadline_exceeded").contains("503"))
            await handler.cancelled.wait { $0 == 1 }
            await handler.ended.wait { $0 == 1 }
        }
    }

    @Test func survivesAClientThatLeavesWhileSuspended() async throws {
        try await withServer { _, port, handler in
            let raw = try RawClient(port: port)
            try await raw.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
            await handler.waiting.wait { $0 == 1 }
            try await raw.abort()
            handler.gate.trigger()
            await handler.ended.wait { $0 == 1 }
            let next = try RawClient(port: port)
            try await next.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try await next.receive(until: "200").contains("200"))
        }
    }

    @Test func answersAClientThatHasNothingMoreToSay() async throws {
        try await withServer { _, port, handler in
            let raw = try RawClient(port: port)
            try await raw.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
            try await raw.finishSending()
            await handler.waiting.wait { $0 == 1 }
            handler.gate.trigger()
            #expect(try await raw.receiveToEnd()?.contains("waited") == true)
        }
    }

    @Test func staysOnLoopbackWithoutTLS() throws {
        let server = HTTPServer(
            configuration: HTTPServerConfiguration(host: "0.0.0.0"),
            handler: ScriptedHandler()
        )
        let error = #expect(throws: HTTPServerError.self) { try server.start() }
        #expect(error?.code == .exposedWithoutTLS)
        let named = HTTPServer(
            configuration: HTTPServerConfiguration(host: "example.com"),
            handler: ScriptedHandler()
        )
        #expect(throws: HTTPServerError.self) { try named.start() }
    }

    @Test func believesOnlyADeclaredProxy() async throws {
        let request = "GET /source HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 6.6.6.6, 9.9.9.9\r\n\r\n"
        try await withServer(sourceHeader: "X-Forwarded-For") { _, port, _ in
            let raw = try RawClient(port: port)
            try await raw.send(request)
            #expect(try await raw.receive(until: "127.0.0.1").contains("127.0.0.1"))
        }
        try await withServer(trustedProxy: true, sourceHeader: "X-Forwarded-For") { _, port, _ in
            let raw = try RawClient(port: port)
            try await raw.send(request)
            #expect(try await raw.receive(until: "9.9.9.9").hasSuffix("9.9.9.9"))
        }
    }

    private func chunked(total: Int) -> String {
        var text = "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        var left = total
        while left > 0 {
            let size = min(left, 4096)
            text += String(size, radix: 16) + "\r\n" + String(repeating: "x", count: size) + "\r\n"
            left -= size
        }
        return text + "0\r\n\r\n"
    }
}
