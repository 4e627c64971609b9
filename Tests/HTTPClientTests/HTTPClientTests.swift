import HTTPClient
import HTTPServer
import Loop
import TestKit
import Testing

@Suite(.timeLimit(.minutes(2)))
struct HTTPClientTests {
    @Test func sendsMethodHeadersAndBody() async throws {
        try await withPeer { peer, client in
            let reply = try await client.send(
                HTTPClientRequest(
                    method: "PUT",
                    url: peer.url + "/describe",
                    headers: [("X-One", "1"), ("X-Empty", "")],
                    body: Array("body".utf8)
                )
            )
            let text = String(decoding: reply.body, as: UTF8.self)
            #expect(text == "PUT one=1 empty=yes body=body")
            #expect(reply.header("CONTENT-TYPE") == "text/plain; charset=utf-8")
        }
    }

    @Test func reusesTheConnection() async throws {
        try await withPeer { peer, client in
            for _ in 0..<5 {
                _ = try await client.send(HTTPClientRequest(url: peer.url + "/describe"))
            }
            #expect(peer.server.statistics.connectionsOpened == 1)
        }
    }

    @Test func runsRequestsSideBySide() async throws {
        try await withPeer { peer, client in
            await withTaskGroup(of: Int?.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        try? await client.send(HTTPClientRequest(url: peer.url + "/wait")).status
                    }
                }
                await peer.waiting.wait { $0 == 20 }
                peer.gate.trigger()
                for await status in group { #expect(status == 200) }
            }
        }
    }

    @Test func followsNoRedirect() async throws {
        try await withPeer { peer, client in
            let reply = try await client.send(HTTPClientRequest(url: peer.url + "/redirect"))
            #expect(reply.status == 302)
            #expect(reply.header("Location") == "/describe")
        }
    }

    @Test func limitsTheReply() async throws {
        try await withPeer { peer, client in
            var request = HTTPClientRequest(url: peer.url + "/large")
            request.maximumReplyBytes = 100_000
            let reply = try await client.send(request)
            #expect(reply.body.count == 100_000)
            request.maximumReplyBytes = 99_999
            await expectFailure(.replyTooLarge) { try await client.send(request) }
        }
    }

    @Test func givesUpAtTheDeadline() async throws {
        try await withPeer { peer, client in
            let request = HTTPClientRequest(url: peer.url + "/wait", timeout: .milliseconds(100))
            await expectFailure(.timeout) { try await client.send(request) }
        }
    }

    @Test func removesACancelledTransfer() async throws {
        try await withPeer { peer, client in
            let task = Task { try await client.send(HTTPClientRequest(url: peer.url + "/wait")) }
            await peer.waiting.wait { $0 == 1 }
            task.cancel()
            await expectFailure(.cancelled) { try await task.value }
            let early = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await client.send(HTTPClientRequest(url: peer.url + "/describe"))
            }
            await expectFailure(.cancelled) { try await early.value }
            let next = try await client.send(HTTPClientRequest(url: peer.url + "/describe"))
            #expect(next.status == 200)
        }
    }

    @Test func sortsFailures() async throws {
        let client = try HTTPClient()
        await expectFailure(.cannotConnect) {
            try await client.send(HTTPClientRequest(url: "http://127.0.0.1:1/"))
        }
        await expectFailure(.invalidRequest) {
            try await client.send(HTTPClientRequest(url: "file:///etc/hostname"))
        }
        await expectFailure(.invalidRequest) {
            try await client.send(
                HTTPClientRequest(url: "http://127.0.0.1:1/", headers: [("X", "a\r\nb: c")])
            )
        }
        client.stop()
        await expectFailure(.stopped) {
            try await client.send(HTTPClientRequest(url: "http://127.0.0.1:1/"))
        }
    }

    @Test func stopEndsWhatIsRunning() async throws {
        try await withPeer { peer, _ in
            let client = try HTTPClient()
            let task = Task { try await client.send(HTTPClientRequest(url: peer.url + "/wait")) }
            await peer.waiting.wait { $0 == 1 }
            client.stop()
            await expectFailure(.stopped) { try await task.value }
        }
    }

    @Test func streamsUntilTheClosureHasEnough() async throws {
        try await withPeer { peer, client in
            let seen = Observed(0)
            let reply = try await client.stream(HTTPClientRequest(url: peer.url + "/ticks")) { _ in
                seen.update { $0 += 1 }
                return seen.value < 3
            }
            #expect(reply.status == 200)
            #expect(seen.value == 3)
            await peer.streamsEnded.wait { $0 == 1 }
        }
    }

    @Test func keepsTheBodyOfARefusedStream() async throws {
        try await withPeer { peer, client in
            let reply = try await client.stream(HTTPClientRequest(url: peer.url + "/none")) { _ in
                Issue.record("a refusal was streamed")
                return false
            }
            #expect(reply.status == 404)
            #expect(reply.body == Array("none".utf8))
        }
    }

    @Test func cancelsAStream() async throws {
        try await withPeer { peer, client in
            let seen = Observed(0)
            let task = Task {
                try await client.stream(HTTPClientRequest(url: peer.url + "/ticks")) { _ in
                    seen.update { $0 += 1 }
                    return true
                }
            }
            await seen.wait { $0 > 0 }
            task.cancel()
            await expectFailure(.cancelled) { try await task.value }
            await peer.streamsEnded.wait { $0 == 1 }
        }
    }
}

private func expectFailure<Result>(
    _ code: HTTPClientError.Code,
    _ body: () async throws -> Result
) async {
    let error = await #expect(throws: HTTPClientError.self) { _ = try await body() }
    #expect(error?.code == code)
}

/// A server that the client is tried against.
private final class Peer: HTTPHandler {
    let gate = StopSignal()
    let waiting = Observed(0)
    let streamsEnded = Observed(0)
    private let started: Locked<(server: HTTPServer, port: UInt16)?>

    init() {
        started = Locked(nil)
    }

    func start() throws {
        let server = HTTPServer(configuration: HTTPServerConfiguration(), handler: self)
        let port = try server.start()
        started.withLock { $0 = (server, port) }
    }

    /// Lets go of the server, which holds its handler.
    func stop() async {
        await server.stop()
        started.withLock { $0 = nil }
    }

    var server: HTTPServer {
        started.withLock { $0?.server }
            ?? HTTPServer(configuration: HTTPServerConfiguration(), handler: self)
    }

    var url: String { "http://127.0.0.1:\(started.withLock { $0?.port ?? 0 })" }

    func admit(_ head: HTTPRequestHead) -> HTTPAdmission {
        .read(limit: 1_048_576)
    }

    func respond(_ request: HTTPRequest) async -> HTTPResponse {
        switch request.head.path {
        case "/wait":
            waiting.update { $0 += 1 }
            await gate.wait()
            return .text(200, "waited")
        case "/redirect":
            return HTTPResponse(status: 302, headers: [("Location", "/describe")])
        case "/large":
            return HTTPResponse(status: 200, body: [UInt8](repeating: 1, count: 100_000))
        case "/none":
            return .text(404, "none")
        case "/ticks":
            return .stream(headers: [("Content-Type", "text/event-stream")]) { writer in
                while await writer.write(Array("data: tick\n\n".utf8)) {}
                self.streamsEnded.update { $0 += 1 }
            }
        default:
            let headers = request.head.headers
            let empty = headers["X-Empty"].map { $0.isEmpty ? "yes" : "no" } ?? "absent"
            let body = String(decoding: request.body, as: UTF8.self)
            return .text(
                200,
                "\(request.head.method) one=\(headers["X-One"] ?? "") empty=\(empty) body=\(body)"
            )
        }
    }
}

private func withPeer(_ body: (Peer, HTTPClient) async throws -> Void) async throws {
    let peer = Peer()
    try peer.start()
    let client = try HTTPClient()
    do {
        try await body(peer, client)
    } catch {
        Issue.record(error)
    }
    client.stop()
    peer.gate.trigger()
    await peer.stop()
}
