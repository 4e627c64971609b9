import Bus
import Contracts
import DeliveryCore
import DeliveryService
import Loop
import ServiceKit
import TestKit
import Testing

@Suite(.timeLimit(.minutes(2))) struct DeliveryPathTests {
    @Test func everythingIsCheckedSentAndAccepted() async throws {
        try await withWorld { world in
            let batch = Samples.fresh(1, 0..<300, world.time)
            let answer = try await world.ask(batch)
            #expect((answer.accepted, answer.duplicate) == (300, 0))
            try await world.wait(for: 300, .accepted)
            let sent = world.relay.state.value.messages
            #expect(sent.count == 300)
            #expect(Set(sent.map(\.deviceToken)).count == 300)
            #expect(Set(sent.map(\.envelope)) == Set(batch.records.compactMap(\.envelope)))
            let latest = world.time.wall.second.adding(seconds: 1740)
            #expect(sent.allSatisfy { $0.expiresAt <= latest && $0.eventID == batch.eventID })
            let asked = world.registration.state.value.checks
            #expect(asked.allSatisfy { $0.watermark == 40 && $0.binding == 3 })
            let receipts = try await world.receipts(ReceiptQuery(eventID: batch.eventID))
            #expect(receipts.allSatisfy { $0.attempts == 1 && $0.nextAttemptAt == nil })
        }
    }

    @Test func aRepeatedHandOffIsSentOnce() async throws {
        try await withWorld { world in
            let batch = Samples.fresh(1, 0..<10, world.time)
            for expected in [(10, 0), (0, 10)] as [(Int64, Int64)] {
                let answer = try await world.ask(batch)
                #expect((answer.accepted, answer.duplicate) == expected)
                try await world.wait(for: 10, .accepted)
            }
            #expect(world.relay.state.value.messages.count == 10)
        }
    }

    @Test func theIneligibleEndWithWhatChanged() async throws {
        try await withWorld { world in
            world.registration.state.update {
                $0.ineligible = [
                    Samples.installation(0): .replaced, Samples.installation(1): .unsubscribed,
                ]
            }
            _ = try await world.ask(Samples.fresh(1, 0..<3, world.time))
            try await world.wait(for: 2, .permanent)
            try await world.wait(for: 1, .accepted)
            let reasons = try await world.receipts(ReceiptQuery(state: .permanent)).map(\.reason)
            #expect(reasons == ["Ineligible/replaced", "Ineligible/unsubscribed"])
            #expect(world.relay.state.value.messages.count == 1)
        }
    }

    @Test func theRelayLearnsWhichBindingsAreYoung() async throws {
        try await withWorld { world in
            let young = Set([1, 4, 7].map(Samples.installation))
            world.registration.state.update { $0.young = young }
            _ = try await world.ask(Samples.fresh(1, 0..<10, world.time))
            try await world.wait(for: 10, .accepted)
            let sent = world.relay.state.value.messages
            #expect(sent.count == 10)
            let expected = Set(young.compactMap(StubRegistration.token))
            #expect(Set(sent.filter(\.isYoung).map(\.deviceToken)) == expected)
            #expect(expected.count == 3)
        }
    }

    @Test func whatWaitsForARelayIsSentWhenOneComes() async throws {
        let folder = try TemporaryDirectory()
        let world = try DeliveryWorld(folder: folder.path)
        let registration = try await world.startRegistration()
        let delivery = try await world.startDelivery()
        _ = try await world.ask(Samples.fresh(1, 0..<20, world.time))
        #expect(try await world.count(.pending) == 20)
        let relay = try await world.startRelay()
        try await world.wait(for: 20, .accepted)
        let receipts = try await world.receipts()
        #expect(receipts.allSatisfy { $0.attempts == 1 })
        try await delivery.stop()
        try await relay.stop()
        try await registration.stop()
    }

    @Test func aRelayThatDiesWithMessagesIsReplaced() async throws {
        let folder = try TemporaryDirectory()
        let world = try DeliveryWorld(folder: folder.path)
        world.relay.answer { _ in
            await StopSignal().wait()
            return nil
        }
        let registration = try await world.startRegistration()
        let delivery = try await world.startDelivery()
        let relay = try await world.startRelay()
        _ = try await world.ask(Samples.fresh(1, 0..<5, world.time))
        await world.relay.state.wait { $0.messages.count == 5 }
        for (_, task) in relay.tasks { task.cancel() }
        try await world.wait(for: 5, .retryable)
        for (_, task) in relay.tasks { _ = try? await task.value }
        world.relay.answer { _ in .accepted }
        let second = try await world.startRelay()
        try await world.wait(for: 5, .accepted)
        #expect(Set(world.relay.state.value.messages.map(\.eventID)).count == 1)
        #expect(try await world.receipts().allSatisfy { $0.attempts == 2 })
        try await delivery.stop()
        try await second.stop()
        try await registration.stop()
    }

    @Test func aLargeAudienceDoesNotHoldUpASmallOne() async throws {
        try await withWorld(settings: ["PUSHBUS_DELIVERY_WINDOW": "64"]) { world in
            let gate = StopSignal()
            world.relay.answer { _ in
                await gate.wait()
                return .accepted
            }
            for part in 0..<8 {
                _ = try await world.ask(
                    Samples.fresh(1, (part * 500)..<(part * 500 + 500), world.time)
                )
            }
            var test = Samples.fresh(2, 0..<1, world.time)
            test.category = .test
            _ = try await world.ask(test)
            gate.trigger()
            try await world.wait(for: 4001, .accepted)
            let order = world.relay.state.value.messages.map(\.eventID)
            let place = try #require(order.firstIndex(of: Samples.event(2)))
            #expect(place < 500)
        }
    }

    @Test func aFullOutboxAsksToComeBack() async throws {
        try await withWorld(settings: ["PUSHBUS_DELIVERY_OPEN_ROWS": "1000"]) { world in
            world.registration.state.update { $0.refusedChecks = .max }
            for event in 0..<3 {
                _ = try? await world.ask(Samples.fresh(event, 0..<330, world.time))
            }
            let failure = await #expect(throws: BusFailure.self) {
                try await world.ask(Samples.fresh(9, 0..<330, world.time))
            }
            guard case .rejected(let reject) = failure else {
                Issue.record("not refused")
                return
            }
            #expect(reject.code == .retryAfter)
            #expect((reject.retryAfterMilliseconds ?? 0) > 0)
        }
    }

    @Test func aStopWaitsForTheVerdictsUnderWay() async throws {
        let folder = try TemporaryDirectory()
        let world = try DeliveryWorld(folder: folder.path)
        let gate = StopSignal()
        world.relay.answer { _ in
            await gate.wait()
            return .accepted
        }
        let peers = [try await world.startRegistration(), try await world.startRelay()]
        let delivery = try await world.startDelivery()
        _ = try await world.ask(Samples.fresh(1, 0..<3, world.time))
        await world.relay.state.wait { $0.messages.count == 3 }
        async let stopped: Void = delivery.stop()
        gate.trigger()
        try await stopped
        let again = try await world.startDelivery()
        #expect(try await world.count(.accepted) == 3)
        try await again.stop()
        for peer in peers { try await peer.stop() }
    }
}
