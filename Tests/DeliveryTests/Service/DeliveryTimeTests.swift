import Bus
import Contracts
import DeliveryCore
import DeliveryService
import Loop
import ServiceKit
import TestKit
import Testing

/// What happens as time passes, under a clock that the test moves.
@Suite(.timeLimit(.minutes(2))) struct DeliveryTimeTests {
    @Test func aRowIsRetriedUntilItsTimeEndsAndNoLonger() async throws {
        let time = ManualTime()
        let relay = StubRelay { _ in
            .init(outcome: .retryable, reason: "NetworkUnavailable", exposure: .ambiguous)
        }
        try await withWorld(time: time, relay: relay) { world in
            _ = try await world.ask(Samples.batch(1, 0..<1))
            try await world.advance { try await world.count(.expired) == 1 }
            let end = UnixMilliseconds((Samples.start + 1800) * 1000)
            #expect(time.wall >= end)
            #expect(time.wall < end.adding(milliseconds: 90_000))
            let receipt = try #require(try await world.receipts().first)
            #expect(receipt.reason == Reason.expired)
            let sent = world.relay.state.value.messages.count
            #expect(Int64(sent) == receipt.attempts)
            #expect((9...40).contains(sent))
        }
    }

    @Test func silenceOfRegistrationMeansWaitingNotSending() async throws {
        let time = ManualTime()
        try await withWorld(time: time) { world in
            world.registration.state.update { $0.refusedChecks = 5 }
            _ = try await world.ask(Samples.batch(1, 0..<4))
            try await world.advance { world.registration.state.value.refusedChecks == 0 }
            #expect(world.relay.state.value.messages.isEmpty)
            try await world.advance { try await world.count(.accepted) == 4 }
            #expect(try await world.receipts().allSatisfy { $0.attempts == 1 })
        }
    }

    @Test func cleanupsAreSentUntilAcknowledged() async throws {
        let time = ManualTime()
        let relay = StubRelay { _ in
            .init(
                outcome: .permanent,
                reason: "Unregistered",
                scope: .device,
                cleanup: .dead,
                timestamp: UnixMilliseconds(1_799_999_999_000)
            )
        }
        try await withWorld(time: time, relay: relay) { world in
            world.registration.state.update { $0.refusedCleanups = 2 }
            _ = try await world.ask(Samples.batch(1, 0..<2))
            try await world.advance {
                let status = try await world.ask(OutboxStatus())
                return world.registration.state.value.cleanups.count >= 3
                    && status.cleanupsWaiting == 0
            }
            let requests = world.registration.state.value.cleanups
            #expect(Set(requests.map(\.processID)).count == 1)
            #expect(requests.last?.totals["sandbox"] == .init(verdicts: 2, dead: 2))
            let item = try #require(requests.last?.items.first)
            #expect(item.binding == 3)
            #expect(item.tokenHash.bytes.count == 32)
            #expect(item.confirmedAt == StubRegistration.confirmedAt)
            #expect(item.apnsTimestamp == UnixMilliseconds(1_799_999_999_000))
            #expect(try await world.count(.permanent) == 2)
        }
    }

    @Test func totalsAreReportedWithoutAnythingToCleanUp() async throws {
        let time = ManualTime()
        try await withWorld(time: time) { world in
            _ = try await world.ask(Samples.batch(1, 0..<3))
            try await world.advance {
                world.registration.state.value.cleanups.last?.totals["sandbox"]?.verdicts == 3
            }
            let reports = world.registration.state.value.cleanups
            #expect(reports.allSatisfy { $0.items.isEmpty })
            let before = time.wall
            try await world.advance { time.wall >= before.adding(milliseconds: 180_000) }
            #expect(world.registration.state.value.cleanups.count == reports.count)
        }
    }

    @Test func manySmallEventsAreForgottenInOneSweep() async throws {
        let time = ManualTime()
        try await withWorld(time: time) { world in
            for event in 0..<200 { _ = try await world.ask(Samples.batch(event, 0..<1)) }
            try await world.advance { try await world.count(.accepted) == 200 }
            time.advance(by: .seconds(3 * 86_400))
            let before = time.wall
            try await world.advance { try await world.count(.accepted) == 0 }
            #expect(time.wall < before.adding(milliseconds: 70_000))
        }
    }

    @Test func anUnconfiguredRelayIsProbedNotFlooded() async throws {
        let time = ManualTime()
        let relay = StubRelay { _ in
            .init(
                outcome: .permanent,
                reason: "RelayNotConfigured",
                scope: .relay,
                exposure: .none,
                retryAfter: 10_000
            )
        }
        try await withWorld(time: time, relay: relay) { world in
            _ = try await world.ask(Samples.batch(1, 0..<200))
            await world.relay.state.wait { $0.messages.count >= 200 }
            let before = world.relay.state.value.batches.count
            try await world.advance { world.relay.state.value.batches.count >= before + 4 }
            #expect(world.relay.state.value.batches.dropFirst(before).allSatisfy { $0 == 1 })
            #expect(time.wall >= UnixMilliseconds((Samples.start + 40) * 1000))
            // Registration tells phones about it, and no longer once the relay has sent something.
            let metric = ServiceStatusAnswer.relayNotConfiguredMetric
            let told = try await world.ask(ServiceStatus()).metrics[metric] ?? 0
            #expect(Int64(told) > Samples.start)
            #expect(Int64(told) <= time.wall.second.seconds)
            world.relay.answer { _ in .accepted }
            try await world.advance { try await world.count(.accepted) == 200 }
            #expect(try await world.ask(ServiceStatus()).metrics[metric] == 0)
        }
    }

    @Test func aStopDoesNotWaitForASilentRelay() async throws {
        let folder = try TemporaryDirectory()
        let time = ManualTime()
        let relay = StubRelay { _ in
            await StopSignal().wait()
            return nil
        }
        let world = try DeliveryWorld(folder: folder.path, time: time, relay: relay)
        let peers = [try await world.startRegistration(), try await world.startRelay()]
        let delivery = try await world.startDelivery()
        _ = try await world.ask(Samples.batch(1, 0..<3))
        await relay.state.wait { $0.messages.count == 3 }
        let hasStopped = Observed(false)
        async let stopped: Void = {
            try await delivery.stop()
            hasStopped.update { $0 = true }
        }()
        await time.waitForSleeper(of: WorkerLimits().stopGrace)
        time.advance(by: WorkerLimits().stopGrace)
        _ = try await within(.seconds(20)) { await hasStopped.wait { $0 } }
        try await stopped
        let store = try await SQLiteDeliveryStore.open(path: world.storePath, time: time)
        let receipts = try await store.allReceipts(ReceiptQuery())
        await store.close()
        #expect(receipts.map(\.attempts) == [1, 1, 1])
        #expect(receipts.allSatisfy { $0.state == .retryable && $0.reason == "RelayNoVerdict" })
        for (_, task) in peers.flatMap(\.tasks) { task.cancel() }
        for (_, task) in peers.flatMap(\.tasks) { _ = try? await task.value }
    }

    @Test func rowsUnderSuspicionAreSentAloneOrGivenUp() async throws {
        let folder = try TemporaryDirectory()
        let time = ManualTime()
        let world = try DeliveryWorld(folder: folder.path, time: time)
        let store = try await SQLiteDeliveryStore.open(path: world.storePath, time: time)
        _ = try await store.enqueue(Samples.batch(1, 0..<1), leasing: 0, lease: .zero)
        for _ in 0..<2 { _ = try await store.claim(limit: 9, lease: .zero) }
        for _ in 0..<3 { _ = try await store.claimAlone(lease: .zero) }
        _ = try await store.enqueue(Samples.batch(2, 0..<3), leasing: 0, lease: .zero)
        for _ in 0..<2 { _ = try await store.claim(limit: 9, lease: .zero) }
        await store.close()

        let peers = [try await world.startRegistration(), try await world.startRelay()]
        let delivery = try await world.startDelivery()
        _ = try await world.ask(Samples.batch(3, 0..<20))
        try await world.advance { try await world.count(.accepted) == 23 }
        let receipts = try await world.receipts(ReceiptQuery(state: .permanent))
        #expect(receipts.map(\.reason) == [Reason.quarantined])
        #expect(world.relay.state.value.batches.count { $0 == 1 } >= 3)
        try await delivery.stop()
        for peer in peers { try await peer.stop() }
    }
}
