import HTTPClient
import HTTPServer
import Loop
import TestKit
import Testing

@Suite(.timeLimit(.minutes(2)))
struct HTTPStreamTests {
    @Test func sendsPiecesWhileTheyAreMade() async throws {
        try await withServer { _, port, handler in
            let raw = try RawClient(port: port)
            try await raw.send("GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try await raw.receive(until: "data: 0").contains("text/event-stream"))
            handler.gate.trigger()
            #expect(try await raw.receive(until: "0\r\n\r\n").hasSuffix("0\r\n\r\n"))
            await handler.streamsEnded.wait { $0 == 1 }
        }
    }

    @Test func keepsTheOrderOfManyPieces() async throws {
        try await withServer { _, port, handler in
            let client = try HTTPClient()
            let received = Observed([UInt8]())
            let reply = try await client.stream(
                HTTPClientRequest(url: "http://127.0.0.1:\(port)/events?count=50000")
            ) { chunk in
                received.update { $0 += chunk }
                return true
            }
            #expect(reply.status == 200)
            let expected = (0..<50_000).map { "data: \($0)\n\n" }.joined()
            #expect(received.value == Array(expected.utf8))
            await handler.streamsEnded.wait { $0 == 1 }
            client.stop()
        }
    }

    @Test func noticesAListenerThatLeft() async throws {
        try await withServer { _, port, handler in
            let raw = try RawClient(port: port)
            try await raw.send("GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
            _ = try await raw.receive(until: "data: 0")
            await handler.waiting.wait { $0 == 1 }
            try await raw.abort()
            await handler.streamsEnded.wait { $0 == 1 }
            await handler.ended.wait { $0 == 1 }
        }
    }

    @Test func endsStreamsWhenTheServerStops() async throws {
        let handler = ScriptedHandler()
        let server = HTTPServer(configuration: HTTPServerConfiguration(), handler: handler)
        let port = try server.start()
        let raw = try RawClient(port: port)
        try await raw.send("GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
        await handler.waiting.wait { $0 == 1 }
        await server.stop()
        #expect(try await raw.receiveToEnd()?.contains("data: 0") == true)
        await handler.streamsEnded.wait { $0 == 1 }
    }
}
