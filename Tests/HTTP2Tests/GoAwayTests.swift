import HTTP2
import Loop
import Testing

@Suite(.timeLimit(.minutes(1)))
struct GoAwayTests {
    private static let shutdown = Array(#"{"reason":"Shutdown"}"#.utf8)

    @Test("two steps: what runs is answered, nothing new is taken, the reason is kept")
    func graceful() async throws {
        let fixture = try await HTTP2Fixture()
        fixture.handler.onRequest { request, connection in
            connection.shutDownGracefully(debugData: Self.shutdown, after: .milliseconds(10))
            let stream = request.stream
            connection.loop.executor.schedule(after: .milliseconds(100)) {
                connection.respond(stream, HTTP2ServerResponse(status: 200))
            }
        }
        let connection = try await fixture.connected()
        let closed = closing(connection, fixture)
        #expect(await connection.send(.push(), timeout: .seconds(10)).status == 200)
        #expect(await connection.send(.push(), timeout: .seconds(10)) == .notSent(.notReady))
        await closed.wait()
        let goAway = await fixture.onLoop { connection.goAway }
        #expect(goAway?.debugData == Self.shutdown)
        #expect(goAway?.code == .noError)
        #expect(goAway?.lastStreamID == 1)
        await fixture.stop()
    }

    @Test("streams above the last one are provably unprocessed, the others go on")
    func lastStream() async throws {
        let fixture = try await HTTP2Fixture()
        let streams = Locked<[Int32]>([])
        fixture.handler.onRequest { request, connection in
            let all = streams.withLock { streams in
                streams.append(request.stream)
                return streams
            }
            guard all.count == 4 else { return }
            connection.goAway(
                lastStream: all[1],
                debugData: Array(#"{"reason":"BadCertificateEnvironment"}"#.utf8)
            )
            for stream in all.prefix(2) {
                connection.respond(stream, HTTP2ServerResponse(status: 200))
            }
        }
        let connection = try await fixture.connected()
        #expect(await connection.ping(timeout: .seconds(10)))
        let outcomes = await withTaskGroup(of: HTTP2Outcome.self) { group in
            for _ in 0..<4 {
                group.addTask { await connection.send(.push(), timeout: .seconds(10)) }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.filter { $0.status == 200 }.count == 2)
        #expect(outcomes.filter { $0 == .notSent(.refused) }.count == 2)
        await fixture.stop()
    }

    @Test("an abrupt end: last stream 0 and the connection gone")
    func abrupt() async throws {
        let fixture = try await HTTP2Fixture()
        fixture.handler.onRequest { _, connection in
            connection.goAway(
                lastStream: 0,
                code: .enhanceYourCalm,
                debugData: Self.shutdown,
                thenClose: true
            )
        }
        let connection = try await fixture.connected()
        let closed = closing(connection, fixture)
        #expect(await connection.send(.push(), timeout: .seconds(10)) == .notSent(.refused))
        await closed.wait()
        #expect(await fixture.onLoop { connection.goAway?.code } == .enhanceYourCalm)
        await fixture.stop()
    }

    @Test("PING is answered; a server that hangs is noticed")
    func ping() async throws {
        let fixture = try await HTTP2Fixture()
        let peer = Locked<HTTP2ServerConnection?>(nil)
        fixture.handler.onOpen { connection in peer.withLock { $0 = connection } }
        let connection = try await fixture.connected()
        #expect(await connection.ping(timeout: .seconds(10)))
        await fixture.onLoop { peer.withLock { $0 }?.pauseReading(true) }
        async let pending = connection.send(.push(), timeout: .seconds(10))
        #expect(await connection.ping(timeout: .milliseconds(50)) == false)
        #expect(await fixture.onLoop { connection.state } == .closed(.pingTimeout))
        let outcome = await pending
        let possible: [HTTP2Outcome] = [
            .ambiguous(.connectionLost, status: nil), .notSent(.notReady), .notSent(.neverWritten),
        ]
        #expect(possible.contains(outcome))
        await fixture.stop()
    }

    /// A signal that triggers when the connection has closed.
    private func closing(_ connection: HTTP2ClientConnection, _ fixture: HTTP2Fixture) -> StopSignal
    {
        let signal = StopSignal()
        fixture.loop.executor.execute {
            connection.onChange = {
                if case .closed = connection.state { signal.trigger() }
            }
        }
        return signal
    }
}
