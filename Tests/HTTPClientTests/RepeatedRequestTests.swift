import Glibc
import HTTPClient
import Loop
import TestKit
import Testing

/// What libcurl does by itself with a request whose reused connection is closed without a reply.
@Suite(.timeLimit(.minutes(1))) struct RepeatedRequestTests {
    private func request(_ peer: ClosingPeer) -> HTTPClientRequest {
        HTTPClientRequest(
            method: "POST",
            url: "http://127.0.0.1:\(peer.port)/",
            body: Array("body".utf8),
            timeout: .seconds(10)
        )
    }

    @Test func aRequestWithoutReplyGoesOverAnotherConnection() async throws {
        let peer = try ClosingPeer()
        let client = try HTTPClient()
        async let taken = peer.serve(stopsListening: false)
        for _ in 0..<2 {
            let reply = try await client.send(request(peer))
            #expect(reply.status == 200)
        }
        #expect(await taken == 3)
        client.stop()
        await peer.stop()
    }

    @Test func whatWasWrittenBeforeIsNotForgotten() async throws {
        let peer = try ClosingPeer()
        let client = try HTTPClient()
        async let taken = peer.serve(stopsListening: true)
        _ = try await client.send(request(peer))
        let error = await #expect(throws: HTTPClientError.self) {
            try await client.send(request(peer))
        }
        #expect(await taken == 2)
        // The repeat found nobody, yet the first had been read.
        #expect(error?.code == .cannotConnect)
        #expect(error?.mayHaveArrived == true)
        let later = await #expect(throws: HTTPClientError.self) {
            try await client.send(request(peer))
        }
        #expect(later?.mayHaveArrived == false)
        client.stop()
        await peer.stop()
    }
}

/// Answers one request, takes the next on that connection and closes it without an answer.
private final class ClosingPeer: Sendable {
    let port: UInt16
    private let listener: Int32
    private let thread: SerialThread

    init() throws {
        thread = try SerialThread(name: "closing-peer")
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 8) == 0
                    ? getsockname(listener, $0, &length) : -1
            }
        }
        try #require(code == 0)
        port = UInt16(bigEndian: address.sin_port)
    }

    func stop() async { thread.stop() }

    /// The number of requests that were read.
    func serve(stopsListening: Bool) async -> Int {
        let listener = listener
        let taken = try? await thread.run {
            var taken = 0
            let first = accept(listener, nil, nil)
            if Self.read(first) { taken += 1 }
            Self.answer(first)
            if Self.read(first) { taken += 1 }
            if stopsListening { close(listener) }
            close(first)
            if !stopsListening {
                let second = accept(listener, nil, nil)
                if Self.read(second) { taken += 1 }
                Self.answer(second)
                close(second)
                close(listener)
            }
            return taken
        }
        return taken ?? -1
    }

    private static func read(_ connection: Int32) -> Bool {
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while !text.suffix(8).elementsEqual(Array("\r\n\r\nbody".utf8)) {
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return false }
            text += buffer[..<count]
        }
        return true
    }

    private static func answer(_ connection: Int32) {
        let reply = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8)
        _ = send(connection, reply, reply.count, Int32(MSG_NOSIGNAL))
    }
}
