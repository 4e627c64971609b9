import HTTPServer
import Loop
import TestKit
import Testing

@Suite(.timeLimit(.minutes(2)))
struct HTTPServerStopTests {
    @Test func waitsForRequestsInFlight() async throws {
        let handler = ScriptedHandler()
        let server = HTTPServer(configuration: HTTPServerConfiguration(), handler: handler)
        let port = try server.start()
        let raw = try RawClient(port: port)
        try await raw.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
        await handler.waiting.wait { $0 == 1 }
        async let stopped: Void = server.stop()
        handler.gate.trigger()
        #expect(try await raw.receiveToEnd()?.contains("waited") == true)
        await stopped
    }

    @Test func answersSuspendedRequestsWhenTheGraceIsOver() async throws {
        var limits = HTTPServerLimits()
        limits.stopGrace = .milliseconds(50)
        let handler = ScriptedHandler()
        let server = HTTPServer(
            configuration: HTTPServerConfiguration(limits: limits),
            handler: handler
        )
        let port = try server.start()
        var clients: [RawClient] = []
        for _ in 0..<8 {
            let raw = try RawClient(port: port)
            try await raw.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
            clients.append(raw)
        }
        await handler.waiting.wait { $0 == 8 }
        await server.stop()
        await server.stop()
        await handler.cancelled.wait { $0 == 8 }
        #expect(handler.ended.value == 8)
        for raw in clients { #expect(try await raw.receiveToEnd() != nil) }
    }

    @Test func startsOnce() async throws {
        let server = HTTPServer(
            configuration: HTTPServerConfiguration(),
            handler: ScriptedHandler()
        )
        _ = try server.start()
        #expect(throws: HTTPServerError.self) { try server.start() }
        await server.stop()
    }
}
