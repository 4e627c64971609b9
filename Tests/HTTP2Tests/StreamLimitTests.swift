import HTTP2
import Loop
import TestKit
import Testing

@Suite(.timeLimit(.minutes(1)))
struct StreamLimitTests {
    @Test("one stream before SETTINGS and the first success, then as SETTINGS says")
    func ramp() async throws {
        var settings = HTTP2ServerSettings()
        settings.maximumConcurrentStreams = 7
        let fixture = try await HTTP2Fixture(settings: settings)
        let connection = try fixture.connection { $0.singleStreamUntilFirstSuccess = true }
        let limits = Locked<[Int]>([])
        await fixture.onLoop {
            connection.onChange = { limits.withLock { $0.append(connection.streamLimit) } }
        }
        try await connection.connect(timeout: .seconds(10))
        #expect(await fixture.onLoop { connection.capacity } == 1)
        #expect(await connection.send(.push(), timeout: .seconds(10)).status == 200)
        #expect(await connection.waitForCapacity(timeout: .seconds(10)))
        #expect(await fixture.onLoop { connection.streamLimit } == 7)
        #expect(limits.withLock { $0.last } == 7)
        connection.shutDown()
        await fixture.stop()
    }

    @Test("a refusal is no success: the limit stays at one")
    func rejectedFirst() async throws {
        let fixture = try await HTTP2Fixture()
        fixture.handler.onRequest { request, connection in
            connection.respond(request.stream, HTTP2ServerResponse(status: 403))
        }
        let connection = try await fixture.connected { $0.singleStreamUntilFirstSuccess = true }
        #expect(await connection.send(.push(), timeout: .seconds(10)).status == 403)
        #expect(await fixture.onLoop { connection.streamLimit } == 1)
        connection.shutDown()
        await fixture.stop()
    }

    @Test("requests beyond the limit are refused at once, and room is announced")
    func noCapacity() async throws {
        var settings = HTTP2ServerSettings()
        settings.maximumConcurrentStreams = 2
        let fixture = try await HTTP2Fixture(settings: settings)
        let held = Locked<[@Sendable () -> Void]>([])
        let (signal, arrived) = AsyncStream.makeStream(of: Int.self)
        fixture.handler.onRequest { request, connection in
            let stream = request.stream
            let count = held.withLock { held in
                held.append { connection.respond(stream, HTTP2ServerResponse(status: 200)) }
                return held.count
            }
            arrived.yield(count)
        }
        let connection = try await fixture.connected()
        // The first PING comes back after SETTINGS.
        #expect(await connection.ping(timeout: .seconds(10)))
        async let first = connection.send(.push(), timeout: .seconds(10))
        async let second = connection.send(.push(), timeout: .seconds(10))
        for await count in signal where count == 2 { break }
        let third = await connection.send(.push(), timeout: .seconds(10))
        #expect(third == .notSent(.noCapacity))
        async let room = connection.waitForCapacity(timeout: .seconds(10))
        await fixture.onLoop { for answer in held.withLock({ $0 }) { answer() } }
        #expect(await room)
        #expect(await [first.status, second.status] == [200, 200])
        connection.shutDown()
        await fixture.stop()
    }

    @Test("a limit lowered in mid-flight is followed, and followed up again")
    func lowered() async throws {
        let fixture = try await HTTP2Fixture()
        let count = Locked(0)
        fixture.handler.onRequest { request, connection in
            let number = count.withLock { count in
                count += 1
                return count
            }
            if number == 10 { connection.setMaximumConcurrentStreams(1) }
            if number == 300 { connection.setMaximumConcurrentStreams(50) }
            connection.respond(request.stream, HTTP2ServerResponse(status: 200))
        }
        let connection = try await fixture.connected()
        let driver = BatchDriver(connection, total: 1_000)
        let tally = await driver.run()
        // What was under way when the limit fell may be refused; that is never ambiguous.
        #expect(tally.ambiguous == 0)
        #expect(tally.responses == 1_000)
        #expect(await fixture.onLoop { connection.streamLimit } == 50)
        connection.shutDown()
        await fixture.stop()
    }

    @Test("a window that is used up closes the connection to more, and its opening is announced")
    func window() async throws {
        let fixture = try await HTTP2Fixture()
        let peer = Locked<HTTP2ServerConnection?>(nil)
        fixture.handler.onOpen { connection in peer.withLock { $0 = connection } }
        let connection = try await fixture.connected { $0.windowReserve = 6_000 }
        #expect(await connection.ping(timeout: .seconds(10)))
        await fixture.onLoop { peer.withLock { $0 }?.pauseReading(true) }
        let answered = Observed(0)
        let taken = await fixture.onLoop {
            connection.onOutcomes = { batch in
                let count = batch.count { $0.outcome.status == 200 }
                answered.update { $0 += count }
            }
            var taken = 0
            while connection.submit(.push(bytes: 4_000), tag: 1, timeout: .seconds(30)) == nil {
                taken += 1
            }
            return taken
        }
        // 65,535 bytes less the reserve, in bodies of 4,000.
        #expect(taken == 15)
        #expect(await fixture.onLoop { connection.capacity } == 0)
        async let room = connection.waitForCapacity(timeout: .seconds(20))
        await fixture.onLoop { peer.withLock { $0 }?.pauseReading(false) }
        #expect(await room)
        await answered.wait { $0 == 15 }
        connection.shutDown()
        await fixture.stop()
    }

    @Test("a limit of none is held by the connection's own cap")
    func unlimited() async throws {
        var settings = HTTP2ServerSettings()
        settings.maximumConcurrentStreams = nil
        let fixture = try await HTTP2Fixture(settings: settings)
        let connection = try await fixture.connected { $0.maximumStreams = 5 }
        #expect(await connection.ping(timeout: .seconds(10)))
        #expect(await fixture.onLoop { connection.capacity } == 5)
        connection.shutDown()
        await fixture.stop()
    }
}
