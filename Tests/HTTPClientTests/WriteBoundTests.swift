import Glibc
import HTTPClient
import Loop
import TestKit
import Testing

/// Nothing of a request is written after its bound, whatever libcurl waits for or repeats.
@Suite(.timeLimit(.minutes(1))) struct WriteBoundTests {
    private func request(_ url: String, body: Int = 4, within bound: Duration) -> HTTPClientRequest
    {
        HTTPClientRequest(
            method: "POST",
            url: url,
            body: [UInt8](repeating: 0x61, count: body),
            timeout: .seconds(20),
            writeWithin: bound
        )
    }

    @Test func aPeerThatNeverShakesHandsGetsNothing() async throws {
        let peer = try ListeningSocket()
        let client = try HTTPClient()
        let error = await #expect(throws: HTTPClientError.self) {
            try await client.send(
                request("https://127.0.0.1:\(peer.port)/", within: .milliseconds(100))
            )
        }
        #expect(error?.code == .tooLate)
        #expect(error?.mayHaveArrived == false)
        client.stop()
    }

    @Test func anUploadThatIsNotOverInTimeIsCut() async throws {
        let peer = try ListeningSocket()
        let client = try HTTPClient()
        let error = await #expect(throws: HTTPClientError.self) {
            try await client.send(
                request(
                    "http://127.0.0.1:\(peer.port)/",
                    body: 64 << 20,
                    within: .seconds(2)
                )
            )
        }
        #expect(error?.code == .tooLate)
        #expect(error?.mayHaveArrived == true)
        client.stop()
    }

    @Test func aBoundThatIsOverLetsNothingOut() async throws {
        let peer = try ListeningSocket()
        let client = try HTTPClient()
        for bound in [Duration.zero, .seconds(-3)] {
            let error = await #expect(throws: HTTPClientError.self) {
                try await client.send(request("http://127.0.0.1:\(peer.port)/", within: bound))
            }
            #expect(error?.code == .tooLate)
            #expect(error?.mayHaveArrived == false)
        }
        client.stop()
    }

    @Test func whatWasWrittenInTimeMayWaitForItsReply() async throws {
        let peer = try LatePeer()
        let client = try HTTPClient()
        async let taken = peer.serve(repeats: false)
        let reply = try await client.send(
            request("http://127.0.0.1:\(peer.port)/", within: LatePeer.bound)
        )
        #expect(reply.status == 200)
        #expect(await taken == 1)
        client.stop()
        await peer.stop()
    }

    @Test func aRepeatOfLibcurlIsNotWrittenLate() async throws {
        let peer = try LatePeer()
        let client = try HTTPClient()
        async let taken = peer.serve(repeats: true)
        let url = "http://127.0.0.1:\(peer.port)/"
        _ = try await client.send(request(url, within: .seconds(10)))
        let error = await #expect(throws: HTTPClientError.self) {
            try await client.send(request(url, within: LatePeer.bound))
        }
        #expect(error?.code == .tooLate)
        // The first writing had been read.
        #expect(error?.mayHaveArrived == true)
        #expect(await taken == 2)
        client.stop()
        await peer.stop()
    }
}

/// Lets the bound of a request pass before it answers, or closes the connection instead.
private final class LatePeer: Sendable {
    /// How long the client may write; the peer is silent for longer.
    static let bound = Duration.milliseconds(500)

    private let quiet: ListeningSocket
    private let thread: SerialThread

    var port: UInt16 { quiet.port }

    init() throws {
        quiet = try ListeningSocket()
        thread = try SerialThread(name: "late-peer")
    }

    func stop() async { thread.stop() }

    /// Answers one request late, or, with `repeats`, one at once and none after it; returns how many
    /// requests it read, those on a second connection included.
    func serve(repeats: Bool) async -> Int {
        let listener = quiet.descriptor
        let taken = try? await thread.run {
            var taken = 0
            let connection = accept(listener, nil, nil)
            if Self.read(connection) { taken += 1 }
            if repeats {
                Self.answer(connection)
                if Self.read(connection) { taken += 1 }
                _ = Self.isReady(connection, for: 1000)
                close(connection)
                if Self.isReady(listener, for: 700) {
                    let second = accept(listener, nil, nil)
                    if Self.read(second) { taken += 1 }
                    close(second)
                }
            } else {
                _ = Self.isReady(connection, for: 1000)
                Self.answer(connection)
                close(connection)
            }
            return taken
        }
        return taken ?? -1
    }

    /// Whether something comes in that time, in milliseconds.
    private static func isReady(_ descriptor: Int32, for milliseconds: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, milliseconds) > 0
    }

    private static func read(_ connection: Int32) -> Bool {
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while !text.suffix(8).elementsEqual(Array("\r\n\r\naaaa".utf8)) {
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
