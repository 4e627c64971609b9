import Contracts
import DeliveryCore
import ServiceKit
import TestKit
import Testing

/// The relay is away for half an hour and a hundred thousand rows wait.
@Suite(.timeLimit(.minutes(3))) struct OutageTests {
    private static let batches = 100
    private static let rowsPerBatch = 500
    private static var rows: Int64 { Int64(batches * rowsPerBatch) }

    @Test func whatIsStillValidDrainsWithinAMinuteAndTheRestIsNeverSent() async throws {
        let folder = try TemporaryDirectory()
        let time = ManualTime()
        let world = try DeliveryWorld(folder: folder.path, time: time, relay: StubRelay(chunk: 256))
        let registration = try await world.startRegistration()
        let delivery = try await world.startDelivery()
        try await publish(0, in: world)
        try await pass(1200, in: world)
        try await publish(1, in: world)
        try await pass(600, in: world)
        try await world.wait(for: Self.rows, .expired)

        let relay = try await world.startRelay()
        var seconds = 0
        while try await world.count(.accepted) < Self.rows {
            time.advance(by: .seconds(1))
            seconds += 1
            try #require(seconds <= 60, "not drained within a minute")
            try await settle(in: world)
        }
        let sent = world.relay.state.value.messages
        #expect(Int64(sent.count) == Self.rows)
        #expect(Set(sent.map(\.eventID)) == Set((0..<Self.batches).map { Self.event(1, $0) }))
        try await delivery.stop()
        for peer in [registration, relay] { try await peer.stop() }
    }

    private static func event(_ generation: Int, _ batch: Int) -> EventID {
        Samples.event(generation * batches + batch)
    }

    private func publish(_ generation: Int, in world: DeliveryWorld) async throws {
        for batch in 0..<Self.batches {
            let first = batch * Self.rowsPerBatch
            var request = Samples.fresh(1, first..<first + Self.rowsPerBatch, world.time)
            request.eventID = Self.event(generation, batch)
            _ = try await world.ask(request)
        }
    }

    /// Lets the clock run for that many seconds in steps of ten.
    private func pass(_ seconds: Int, in world: DeliveryWorld) async throws {
        guard let time = world.time as? ManualTime else { return }
        for _ in 0..<seconds / 10 {
            // Sweeper and clean-ups; without a relay the worker waits for one.
            await time.waitForSleepers(2)
            time.advance(by: .seconds(10))
        }
    }

    /// Returns when the number of accepted rows no longer changes.
    private func settle(in world: DeliveryWorld) async throws {
        var last: Int64 = -1
        var same = 0
        while same < 5 {
            let now = try await world.count(.accepted)
            same = now == last ? same + 1 : 0
            last = now
            if now == Self.rows { return }
        }
    }
}
