import Contracts
import HTTP2
import Loop
import RelayCore
import RelayService
import ServiceKit
import TestKit
import Testing

@Suite("Pool: load over connections", .timeLimit(.minutes(1)))
struct PoolLoadTests {
    @Test("Messages go to the connection with the fewest under way")
    func leastLoaded() async throws {
        var settings = HTTP2ServerSettings()
        settings.maximumConcurrentStreams = 4
        let fixture = try await PoolFixture(settings: settings, connections: 2)
        // More than one connection takes at a time, so the second one is opened.
        #expect(try await fixture.send(200).allSatisfy { $0.outcome == .accepted })
        await fixture.apns.opened.wait { $0 == 2 }
        let before = fixture.apns.seen.value.count
        fixture.apns.change { _, _ in }
        let verdicts = Observed(0)
        let pushes = try (0..<6).map { try fixture.push($0) }
        await fixture.pool.enqueue(pushes) { known in
            let count = known.count
            verdicts.update { $0 += count }
        }
        await fixture.apns.seen.wait { $0.count == before + 6 }
        let late = fixture.apns.seen.value.suffix(6)
        for connection in 1...2 { #expect(late.count { $0.connection == connection } == 3) }
        await fixture.onAPNs { connections in
            for push in late {
                connections.first { $0.id == push.connection }?
                    .respond(push.stream, HTTP2ServerResponse(status: 200))
            }
        }
        await verdicts.wait { $0 == 6 }
        await fixture.stop()
    }

    @Test("A connection whose window is used up gets no more; another one takes the rest")
    func window() async throws {
        let fixture = try await PoolFixture(connections: 2)
        #expect(await fixture.pool.send(try fixture.push()).outcome == .accepted)
        await fixture.onAPNs { $0[0].pauseReading(true) }
        let verdicts = Observed([RelayVerdict]())
        let pushes = try (0..<100).map { try fixture.push($0, payloadBytes: 4_000) }
        await fixture.pool.enqueue(pushes) { known in
            verdicts.update { $0 += known.map(\.verdict) }
        }
        // 15 bodies of 4,000 bytes fit the window of the first one, less what must stay free.
        await verdicts.wait { $0.count == 85 }
        #expect(fixture.apns.seen.value.dropFirst().allSatisfy { $0.connection == 2 })
        await fixture.onAPNs { $0[0].pauseReading(false) }
        await verdicts.wait { $0.count == 100 }
        #expect(verdicts.value.allSatisfy { $0.outcome == .accepted })
        #expect(fixture.apns.opened.value == 2)
        await fixture.stop()
    }

    @Test("An opening that gets no answer holds up nobody")
    func stuckOpening() async throws {
        let hole = try BlackHole()
        let asked = Observed(0)
        let resolver = NameResolver { host, port in
            asked.update { $0 += 1 }
            return NameResolver.askSystem(host: host, port: asked.value == 1 ? port : hole.port)
        }
        var settings = HTTP2ServerSettings()
        settings.maximumConcurrentStreams = 4
        let fixture = try await PoolFixture(
            settings: settings,
            connections: 2,
            connectTimeout: .seconds(30),
            resolver: resolver
        )
        // More than one connection takes at a time, so a second one is wanted.
        for _ in 0..<2 {
            #expect(try await fixture.send(200).allSatisfy { $0.outcome == .accepted })
            await asked.wait { $0 == 2 }
        }
        #expect(fixture.apns.opened.value == 1)
        await fixture.stop()
    }

    @Test("An opening that gets no answer ends in time, and the message goes over the next one")
    func hopelessOpening() async throws {
        let hole = try BlackHole()
        let asked = Observed(0)
        let resolver = NameResolver { host, port in
            asked.update { $0 += 1 }
            return NameResolver.askSystem(host: host, port: asked.value == 1 ? hole.port : port)
        }
        let fixture = try await PoolFixture(
            connectTimeout: .milliseconds(200),
            resolver: resolver
        )
        #expect(await fixture.pool.send(try fixture.push()).outcome == .accepted)
        #expect(asked.value == 2 && fixture.count("connect_failed") == 1)
        await fixture.stop()
    }

    @Test("Uploads that the peer's windows hold up cost no time of the processor")
    func stuckUploads() async throws {
        var settings = HTTP2ServerSettings()
        settings.streamWindowBytes = 1_000
        let fixture = try await PoolFixture(settings: settings, deadline: .seconds(1))
        #expect(await fixture.pool.send(try fixture.push()).outcome == .accepted)
        await fixture.onAPNs { $0[0].pauseReading(true) }
        let before = await fixture.loopCPU()
        let verdicts = Observed([RelayVerdict]())
        let pushes = try (1..<11).map { try fixture.push($0, payloadBytes: 4_000) }
        await fixture.pool.enqueue(pushes) { known in
            verdicts.update { $0 += known.map(\.verdict) }
        }
        await verdicts.wait { $0.count == 10 }
        // A loop that spins would have had a second.
        #expect(await fixture.loopCPU() - before < .milliseconds(300))
        #expect(verdicts.value.allSatisfy { $0.exposure == .ambiguous })
        #expect(await fixture.pool.send(try fixture.push()).outcome == .accepted)
        await fixture.stop()
    }
}

@Suite("Pool: devices that get too much", .timeLimit(.minutes(1)))
struct PoolThrottleTests {
    @Test("After TooManyRequests a device waits, then takes one message at a time")
    func singleFile() async throws {
        let fixture = try await PoolFixture { push, connection in
            if push.path.hasSuffix("07") {
                connection.refuse(push, 429, "TooManyRequests")
            } else {
                connection.respond(push.stream, HTTP2ServerResponse(status: 200))
            }
        }
        let first = await fixture.pool.send(try fixture.push(7))
        #expect(first.scope == .device)
        #expect(first.exposure == .answered)
        #expect(first.retryAfterMilliseconds == 5_000)
        let second = await fixture.pool.send(try fixture.push(7))
        #expect(second.reason == "TooManyRequests")
        #expect(second.scope == .device)
        #expect(second.exposure == .none)
        #expect(second.retryAfterMilliseconds == 5_000)
        #expect(fixture.apns.seen.value.count == 1)
        // Nobody else waits.
        #expect(await fixture.pool.send(try fixture.push(8)).outcome == .accepted)

        fixture.time.advance(by: .seconds(5))
        fixture.apns.change { _, _ in }
        let verdicts = Observed([RelayVerdict]())
        let three = try (0..<3).map { _ in try fixture.push(7) }
        await fixture.pool.enqueue(three) { known in
            verdicts.update { $0 += known.map(\.verdict) }
        }
        await verdicts.wait { $0.count == 2 }
        #expect(verdicts.value.allSatisfy { $0.scope == .device && $0.exposure == .none })
        await fixture.apns.seen.wait { $0.count == 3 }
        let under = try #require(fixture.apns.seen.value.last)
        await fixture.onAPNs {
            _ = $0[0].respond(under.stream, HTTP2ServerResponse(status: 200))
        }
        await verdicts.wait { $0.count == 3 }
        #expect(verdicts.value.last?.outcome == .accepted)
        fixture.apns.change(ScriptedAPNs.accepting)
        #expect(await fixture.pool.send(try fixture.push(7)).outcome == .accepted)
        await fixture.stop()
    }

    @Test("A wait that APNs states is kept, in seconds and as a date")
    func stated() async throws {
        let fixture = try await PoolFixture { push, connection in
            // The clocks of this test stand at 2033-05-18 03:33:20.
            let text = push.path.hasSuffix("01") ? "40" : "Wed, 18 May 2033 03:34:20 GMT"
            connection.respond(
                push.stream,
                HTTP2ServerResponse(
                    status: 429,
                    headers: [HTTP2Field("retry-after", text)],
                    body: Array(#"{"reason":"TooManyRequests"}"#.utf8)
                )
            )
        }
        let seconds = await fixture.pool.send(try fixture.push(1))
        #expect(seconds.retryAfterMilliseconds == 40_000)
        let date = await fixture.pool.send(try fixture.push(2))
        #expect(date.retryAfterMilliseconds == 60_000)
        await fixture.stop()
    }
}

@Suite("Devices that get too much")
struct DeviceThrottleTests {
    private func device(_ number: Int) throws -> DeviceToken {
        let hex = String(number, radix: 16)
        return try #require(DeviceToken(String(repeating: "0", count: 8 - hex.utf8.count) + hex))
    }

    @Test("The wait doubles up to a quarter of an hour, and a calm time ends it")
    func waits() throws {
        var throttles = DeviceThrottles()
        let device = try device(1)
        #expect(throttles.wait(for: device, at: 0) == nil)
        var now: Int64 = 0
        var waits: [Int64] = []
        for _ in 0..<10 {
            let wait = throttles.refused(device, statedMilliseconds: nil, at: now)
            // What was under way at the same time says nothing new.
            #expect(throttles.refused(device, statedMilliseconds: nil, at: now + 1) == wait - 1)
            #expect(throttles.wait(for: device, at: now + wait - 1) == 1)
            waits.append(wait)
            now += wait
            #expect(throttles.wait(for: device, at: now) == nil)
        }
        #expect(
            waits == [
                5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 320_000, 640_000, 900_000, 900_000,
            ]
        )
        #expect(throttles.isWatched(device))
        #expect(throttles.wait(for: device, at: now + 900_000) == nil)
        #expect(!throttles.isWatched(device))
        #expect(throttles.refused(device, statedMilliseconds: 60_000, at: now) == 60_000)
    }

    @Test("While one is under way the next one waits")
    func singleFile() throws {
        var throttles = DeviceThrottles()
        let device = try device(1)
        _ = throttles.refused(device, statedMilliseconds: nil, at: 0)
        throttles.began(device)
        #expect(throttles.wait(for: device, at: 5_000) == 1_000)
        throttles.ended(device)
        #expect(throttles.wait(for: device, at: 5_000) == nil)
    }

    @Test("Many devices never need more room; the calmest is forgotten first")
    func bounded() throws {
        var throttles = DeviceThrottles(capacity: 10)
        for number in 0..<1_000 {
            _ = throttles.refused(try device(number), statedMilliseconds: nil, at: Int64(number))
        }
        #expect(throttles.count == 10)
        #expect(throttles.isWatched(try device(999)))
        #expect(!throttles.isWatched(try device(0)))
    }
}
