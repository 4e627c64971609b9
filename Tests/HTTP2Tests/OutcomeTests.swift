import HTTP2
import Loop
import Testing

@Suite(.timeLimit(.minutes(1)))
struct OutcomeTests {
    @Test("REFUSED_STREAM is provably unprocessed, other codes are ambiguous")
    func resets() async throws {
        let fixture = try await HTTP2Fixture()
        let code = Locked(HTTP2ErrorCode.refusedStream)
        fixture.handler.onRequest { request, connection in
            connection.reset(request.stream, code.withLock { $0 })
        }
        let connection = try await fixture.connected()
        #expect(await connection.send(.push(), timeout: .seconds(10)) == .notSent(.refused))
        for other in [HTTP2ErrorCode.internalError, .cancel, .enhanceYourCalm, .noError] {
            code.withLock { $0 = other }
            #expect(
                await connection.send(.push(), timeout: .seconds(10))
                    == .ambiguous(.reset(other), status: nil)
            )
        }
        #expect(await fixture.onLoop { connection.activeStreams } == 0)
        connection.shutDown()
        await fixture.stop()
    }

    @Test("a silent server: the deadline resets the stream and frees its slot")
    func silence() async throws {
        let fixture = try await HTTP2Fixture()
        let isSilent = Locked(true)
        fixture.handler.onRequest { request, connection in
            if isSilent.withLock({ $0 }) { return }
            connection.respond(request.stream, HTTP2ServerResponse(status: 200))
        }
        let connection = try await fixture.connected { $0.maximumStreams = 1 }
        for expected in 1...2 {
            let outcome = await connection.send(.push(), timeout: .milliseconds(30))
            #expect(outcome == .ambiguous(.timeout, status: nil))
            #expect(await fixture.onLoop { connection.silentStreams } == expected)
            #expect(await connection.waitForCapacity(timeout: .seconds(10)))
        }
        isSilent.withLock { $0 = false }
        #expect(await connection.send(.push(), timeout: .seconds(10)).status == 200)
        #expect(await fixture.onLoop { connection.silentStreams } == 0)
        connection.shutDown()
        await fixture.stop()
    }

    @Test("cancelling the caller resets the stream")
    func cancelled() async throws {
        let fixture = try await HTTP2Fixture()
        let (signal, arrived) = AsyncStream.makeStream(of: Void.self)
        fixture.handler.onRequest { _, _ in arrived.yield() }
        let connection = try await fixture.connected()
        let task = Task { await connection.send(.push(), timeout: .seconds(30)) }
        for await _ in signal { break }
        task.cancel()
        #expect(await task.value == .ambiguous(.cancelled, status: nil))
        connection.shutDown()
        await fixture.stop()
    }

    @Test("an early answer is kept although the upload never ends", arguments: [false, true])
    func early(resets: Bool) async throws {
        var settings = HTTP2ServerSettings()
        settings.streamWindowBytes = 10
        let fixture = try await HTTP2Fixture(settings: settings)
        fixture.handler.onBegin { request, connection in
            let body = Array(#"{"reason":"PayloadTooLarge"}"#.utf8)
            connection.respond(request.stream, HTTP2ServerResponse(status: 413, body: body))
            if resets { connection.reset(request.stream, .noError) }
        }
        let connection = try await fixture.connected()
        let outcome = await connection.send(.push(bytes: 100_000), timeout: .seconds(10))
        #expect(outcome.status == 413 || resets, "\(outcome)")
        guard case .response(let response) = outcome else {
            // nghttp2 drops queued data of a reset stream: then no complete answer was sent.
            #expect(resets)
            connection.shutDown()
            await fixture.stop()
            return
        }
        #expect(String(decoding: response.body, as: UTF8.self).contains("PayloadTooLarge"))
        // What was given up of the upload waits for no window any more.
        #expect(await connection.ping(timeout: .seconds(10)))
        #expect(await fixture.onLoop { connection.windowLeft } > 0)
        connection.shutDown()
        await fixture.stop()
    }

    @Test("an answer during an upload touches no sibling")
    func siblings() async throws {
        var settings = HTTP2ServerSettings()
        settings.streamWindowBytes = 1_000
        let fixture = try await HTTP2Fixture(settings: settings)
        fixture.handler.onBegin { request, connection in
            guard request.path == "/3/device/ff" else { return }
            connection.respond(request.stream, HTTP2ServerResponse(status: 400))
        }
        let connection = try await fixture.connected()
        #expect(await connection.ping(timeout: .seconds(10)))
        let statuses = await withTaskGroup(of: Int?.self) { group in
            for number in 0..<20 {
                let token = number % 4 == 0 ? "ff" : "00"
                group.addTask {
                    await connection.send(.push(token, bytes: 5_000), timeout: .seconds(10)).status
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.count { $0 == 400 } == 5)
        #expect(statuses.count { $0 == 200 } == 15)
        // Every request was seen once.
        #expect(fixture.handler.requests.count <= 20)
        connection.shutDown()
        await fixture.stop()
    }

    @Test("requests given up on either side free their stream and leave the window whole")
    func givenUp() async throws {
        let fixture = try await HTTP2Fixture()
        let isSilent = Locked(true)
        fixture.handler.onRequest { request, connection in
            if isSilent.withLock({ $0 }) { return }
            connection.respond(request.stream, HTTP2ServerResponse(status: 200))
        }
        let peer = Locked<HTTP2ServerConnection?>(nil)
        fixture.handler.onOpen { connection in peer.withLock { $0 = connection } }
        let connection = try await fixture.connected()
        #expect(await connection.ping(timeout: .seconds(10)))
        // More bytes in all than any window holds.
        for _ in 0..<10 {
            await withDiscardingTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask {
                        let outcome = await connection.send(
                            .push(bytes: 10_000),
                            timeout: .milliseconds(20)
                        )
                        #expect(outcome.status == nil)
                    }
                }
            }
        }
        isSilent.withLock { $0 = false }
        #expect(await connection.send(.push(bytes: 60_000), timeout: .seconds(10)).status == 200)
        // The resets had reached the server before.
        #expect(await fixture.onLoop { peer.withLock { $0 }?.activeStreams } == 0)
        connection.shutDown()
        await fixture.stop()
    }

    @Test("a request is answered once, whatever the handler does")
    func answeredOnce() async throws {
        let fixture = try await HTTP2Fixture()
        fixture.handler.onRequest { request, connection in
            let body = Array(#"{"reason":"BadPath"}"#.utf8)
            connection.respond(request.stream, HTTP2ServerResponse(status: 404, body: body))
            connection.respond(request.stream, HTTP2ServerResponse(status: 200))
        }
        let connection = try await fixture.connected()
        #expect(await connection.send(.push(), timeout: .seconds(10)).status == 404)
        connection.shutDown()
        await fixture.stop()
    }

    @Test("bodies split, empty, too long, not JSON; headers missing")
    func bodies() async throws {
        let fixture = try await HTTP2Fixture()
        let answer = Locked(HTTP2ServerResponse(status: 400))
        fixture.handler.onRequest { request, connection in
            connection.respond(request.stream, answer.withLock { $0 })
        }
        let connection = try await fixture.connected { $0.keptHeaders = ["apns-id"] }
        func exchange(_ response: HTTP2ServerResponse) async -> HTTP2Response? {
            answer.withLock { $0 = response }
            let outcome = await connection.send(.push(), timeout: .seconds(10))
            if case .response(let response) = outcome { return response }
            return nil
        }
        let json = Array(#"{"reason":"BadDeviceToken"}"#.utf8)
        let split = await exchange(
            HTTP2ServerResponse(
                status: 400,
                headers: [HTTP2Field("apns-id", "1234"), HTTP2Field("server", "x")],
                body: json,
                frameBytes: 1
            )
        )
        #expect(split?.body == json)
        #expect(split?.headers == [HTTP2Field("apns-id", "1234")])
        let empty = await exchange(HTTP2ServerResponse(status: 500))
        #expect(empty?.status == 500 && empty?.body == [] && empty?.headers == [])
        let binary = [UInt8](repeating: 0xFF, count: 10_000)
        let long = await exchange(HTTP2ServerResponse(status: 503, body: binary))
        #expect(long?.body.count == 4_096 && long?.isBodyTruncated == true)
        connection.shutDown()
        await fixture.stop()
    }

    @Test("a body that is cut off is ambiguous and keeps its status")
    func cutOff() async throws {
        let fixture = try await HTTP2Fixture()
        fixture.handler.onRequest { request, connection in
            let response = HTTP2ServerResponse(status: 400, body: [0x7B], leavesOpen: true)
            connection.respond(request.stream, response)
            connection.loop.executor.schedule(after: .milliseconds(20)) { connection.close() }
        }
        let connection = try await fixture.connected()
        let outcome = await connection.send(.push(), timeout: .seconds(10))
        #expect(outcome == .ambiguous(.connectionLost, status: 400))
        #expect(await fixture.onLoop { connection.state } == .closed(.peer))
        #expect(await connection.send(.push(), timeout: .seconds(1)) == .notSent(.notReady))
        await fixture.stop()
    }

    @Test("what was never written when the connection ends was not sent")
    func neverWritten() async throws {
        let fixture = try await HTTP2Fixture()
        let connection = try await fixture.connected()
        #expect(await connection.ping(timeout: .seconds(10)))
        let outcomes = Locked<[HTTP2Outcome]>([])
        await fixture.onLoop {
            connection.onOutcomes = { batch in
                outcomes.withLock { $0 += batch.map(\.outcome) }
            }
            // The frames would leave after this closure; the connection ends before.
            for tag in 1...3 {
                _ = connection.submit(.push(), tag: UInt64(tag), timeout: .seconds(10))
            }
            connection.close()
        }
        #expect(outcomes.withLock { $0 } == Array(repeating: .notSent(.neverWritten), count: 3))
        await fixture.stop()
    }

    @Test("a request that is beyond all bounds is refused before it is sent")
    func tooLarge() async throws {
        let fixture = try await HTTP2Fixture()
        let connection = try await fixture.connected()
        var request = HTTP2Request.push()
        request.headers = [HTTP2Field("x", String(repeating: "y", count: 40_000))]
        #expect(await connection.send(request, timeout: .seconds(1)) == .notSent(.tooLarge))
        #expect(await connection.send(.push(), timeout: .seconds(10)).status == 200)
        connection.shutDown()
        await fixture.stop()
    }
}
