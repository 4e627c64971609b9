import HTTPServer
import Loop
import TestKit

/// Answers by path, and tells the test what happened.
final class ScriptedHandler: HTTPHandler {
    let bodyLimit: Int
    /// Opened by the test to let `/wait` answer.
    let gate = StopSignal()
    let waiting = Observed(0)
    let cancelled = Observed(0)
    let ended = Observed(0)
    let streamsEnded = Observed(0)

    init(bodyLimit: Int = 8192) {
        self.bodyLimit = bodyLimit
    }

    func admit(_ head: HTTPRequestHead) -> HTTPAdmission {
        head.path == "/none" ? .respond(.text(404, "no such path")) : .read(limit: bodyLimit)
    }

    func respond(_ request: HTTPRequest) async -> HTTPResponse {
        switch request.head.path {
        case "/wait":
            waiting.update { $0 += 1 }
            await gate.wait()
            if Task.isCancelled { cancelled.update { $0 += 1 } }
            return .text(200, "waited")
        case "/events":
            return .stream(headers: [("Content-Type", "text/event-stream")]) { writer in
                await self.stream(to: writer, count: request.head.query["count"])
            }
        case "/source":
            return .text(200, request.head.source)
        default:
            var response = HTTPResponse(status: 200, body: request.body)
            response.headers = [("X-Query", request.head.query["q"] ?? "")]
            return response
        }
    }

    private func stream(to writer: HTTPStreamWriter, count: String?) async {
        let count = count.flatMap { Int($0) } ?? 1
        for index in 0..<count {
            guard await writer.write(Array("data: \(index)\n\n".utf8)) else { break }
        }
        if count == 1 {
            waiting.update { $0 += 1 }
            await gate.wait()
        }
        streamsEnded.update { $0 += 1 }
    }

    func ended(_ head: HTTPRequestHead) {
        ended.update { $0 += 1 }
    }
}

/// Starts a server, runs the body, stops the server.
func withServer<Result>(
    _ handler: ScriptedHandler = ScriptedHandler(),
    limits: HTTPServerLimits = HTTPServerLimits(),
    tls: TLSFiles? = nil,
    trustedProxy: Bool = false,
    sourceHeader: String? = nil,
    _ body: (HTTPServer, UInt16, ScriptedHandler) async throws -> Result
) async throws -> Result {
    let server = HTTPServer(
        configuration: HTTPServerConfiguration(
            tls: tls,
            trustedProxy: trustedProxy,
            sourceHeader: sourceHeader,
            limits: limits
        ),
        handler: handler
    )
    let port = try server.start()
    do {
        let result = try await body(server, port, handler)
        handler.gate.trigger()
        await server.stop()
        return result
    } catch {
        handler.gate.trigger()
        await server.stop()
        throw error
    }
}
