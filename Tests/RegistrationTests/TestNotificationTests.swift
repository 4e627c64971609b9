import Contracts
import Loop
import ServiceKit
import TestKit
import Testing

/// A test notification from the phone's wish to its receipt.
@Suite(.timeLimit(.minutes(2)))
struct TestNotificationTests {
    private static let event = "11111111-1111-4111-8111-111111111111"

    @Test func isPublishedOnceAndFollowed() async throws {
        try await RegistrationWorld.run { world in
            try await world.peers.startEventIngest()
            try await world.peers.startDelivery()
            let phone = try await world.registeredPhone("alice")
            let first = try await phone.test(Self.event, revision: 2)
            #expect(first.status == 200)
            #expect(first.string("outcome") == "pending")
            #expect(first.string("presentation") == "unobserved")
            let events = try #require(await world.peers.published.wait { !$0.isEmpty })
            #expect(events[0]["id"]?.string == Self.event)
            #expect(events[0]["type"]?.string == "org.pushbus.test.requested.v1")
            #expect(events[0]["data"]?["installation_id"]?.string == phone.installation)
            #expect(events[0]["time"]?.string == world.time.wall.second.start.rfc3339)
            #expect(
                events[0]["expirytime"]?.string
                    == world.time.wall.second.adding(seconds: 1800).start.rfc3339
            )
            #expect(try await phone.test(Self.event, revision: 2).status == 200)
            #expect(try await phone.test(Self.event, revision: 1).code == "test_conflict")
            let pending = try await phone.readTest(Self.event)
            #expect(pending.string("outcome") == "pending")
            try world.peers.receipts.withLock {
                $0 = [try Self.receipt(phone, .retryable, "RelayUnavailable")]
            }
            #expect(try await phone.readTest(Self.event).string("outcome") == "retryable")
            // Delivery names no reason for what was accepted.
            try world.peers.receipts.withLock { $0 = [try Self.receipt(phone, .accepted, nil)] }
            let accepted = try await phone.readTest(Self.event)
            #expect(accepted.string("outcome") == "accepted")
            #expect(accepted.string("reason") == "Accepted")
        }
    }

    @Test func aRepeatResumesAndItsDeadlineNeverRestarts() async throws {
        try await RegistrationWorld.run { world in
            try await world.peers.startEventIngest()
            let phone = try await world.registeredPhone("alice")
            #expect(try await phone.test(Self.event, revision: 2).status == 200)
            let first = try #require(await world.peers.published.wait { !$0.isEmpty })
            world.time.advance(by: .seconds(1000))
            let later = try await phone.refreshed()
            #expect(try await later.test(Self.event, revision: 2).string("outcome") == "pending")
            // The settings may have moved on; the repeat is of the same request all the same.
            _ = try await later.save(revision: 2, "enabled")
            #expect(try await later.test(Self.event, revision: 2).status == 200)
            world.time.advance(by: .seconds(799))
            #expect(try await later.readTest(Self.event).string("outcome") == "pending")
            world.time.advance(by: .seconds(1))
            let end = try await later.refreshed()
            #expect(try await end.readTest(Self.event).string("outcome") == "expired")
            #expect(try await end.test(Self.event, revision: 2).string("outcome") == "expired")
            #expect(world.peers.published.value == first)
        }
    }

    @Test func aLateRepeatIsToldWhatBecameOfIt() async throws {
        try await RegistrationWorld.run { world in
            try await world.peers.startEventIngest()
            let phone = try await world.registeredPhone("alice")
            #expect(try await phone.test(Self.event, revision: 2).status == 200)
            try world.peers.receipts.withLock { $0 = [try Self.receipt(phone, .accepted, nil)] }
            world.time.advance(by: .seconds(1800))
            let late = try await phone.refreshed()
            let repeated = try await late.test(Self.event, revision: 2)
            #expect(repeated.string("outcome") == "accepted")
            #expect(repeated.string("reason") == "Accepted")
        }
    }

    @Test func aRepeatSaysNothingFinalWhileDeliveryIsSilent() async throws {
        try await RegistrationWorld.run(withDelivery: false) { world in
            let phone = try await world.registeredPhone("alice")
            #expect(try await phone.test(Self.event, revision: 2).status == 200)
            world.time.advance(by: .seconds(1800))
            let late = try await phone.refreshed()
            let repeated = try await late.test(Self.event, revision: 2)
            #expect(repeated.string("outcome") == "pending")
        }
    }

    @Test func belongsToItsLoginAlone() async throws {
        try await RegistrationWorld.run { world in
            try await world.peers.startDelivery()
            let alice = try await world.registeredPhone("alice", token: "aa11")
            let bob = try await world.registeredPhone("bob", token: "bb22")
            #expect(try await alice.test(Self.event, revision: 2).status == 200)
            #expect(try await bob.test(Self.event, revision: 2).code == "foreign_test")
            #expect(try await bob.readTest(Self.event).status == 404)
            let again = try await world.login("alice", alice.installation)
            #expect(try await again.readTest(Self.event).status == 404)
        }
    }

    @Test func needsARegisteredPhone() async throws {
        try await RegistrationWorld.run { world in
            try await world.addUser("alice")
            let phone = try await world.login("alice", "phone-1")
            #expect(try await phone.test(Self.event, revision: 0).code == "not_registered")
            _ = try await phone.save(revision: 0, "enabled")
            #expect(try await phone.test(Self.event, revision: 1).code == "not_registered")
            _ = try await phone.register(revision: 1)
            #expect(try await phone.test(Self.event, revision: 1).code == "stale_revision")
            #expect(try await phone.test("not-a-uuid", revision: 2).status == 400)
            #expect(try await phone.test(Self.event, revision: 2).status == 200)
        }
    }

    @Test func reachesEventIngestAfterARestart() async throws {
        let session = Observed<Reply?>(nil)
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice")
            #expect(try await phone.test(Self.event, revision: 2).status == 200)
            session.update { $0 = phone.session }
        } again: { world in
            try await world.peers.startEventIngest()
            let events = try #require(await world.peers.published.wait { !$0.isEmpty })
            #expect(events[0]["id"]?.string == Self.event)
        }
    }

    @Test func triesAgainWhenAskedTo() async throws {
        try await RegistrationWorld.run { world in
            world.peers.answers.withLock { $0 = [.retryAfter, .duplicate] }
            try await world.peers.startEventIngest()
            let phone = try await world.registeredPhone("alice")
            #expect(try await phone.test(Self.event, revision: 2).status == 200)
            await world.peers.published.wait { $0.count == 1 }
            // Housekeeping and the publisher's backoff.
            await world.time.waitForSleepers(2)
            world.time.advance(by: .seconds(30))
            let events = try #require(await world.peers.published.wait { $0.count == 2 })
            #expect(events[0] == events[1])
        }
    }

    @Test func tellsWhatBecameOfAHopelessOne() async throws {
        try await RegistrationWorld.run { world in
            world.peers.answers.withLock { $0 = [.conflict] }
            try await world.peers.startEventIngest()
            try await world.peers.startDelivery()
            let phone = try await world.registeredPhone("alice")
            _ = try await phone.test(Self.event, revision: 2)
            await world.logs.wait(for: "EventIngest refuses a test")
            let other = "11111111-1111-4111-8111-111111111112"
            world.peers.answers.withLock { $0 = [.accepted] }
            _ = try await phone.test(other, revision: 2)
            await world.peers.published.wait { $0.count == 2 }
            let refused = try await phone.readTest(Self.event)
            #expect(refused.string("outcome") == "permanent")
            #expect(refused.string("reason") == "Conflict")
            world.time.advance(by: .seconds(1799))
            let renewed = Phone(
                world: world,
                installation: phone.installation,
                session: try await phone.refresh()
            )
            #expect(try await renewed.readTest(other).string("outcome") == "pending")
            world.time.advance(by: .seconds(1))
            let late = Phone(
                world: world,
                installation: phone.installation,
                session: try await renewed.refresh()
            )
            #expect(try await late.readTest(other).string("outcome") == "expired")
        }
    }

    private static func receipt(
        _ phone: Phone,
        _ state: ReceiptState,
        _ reason: String?
    ) throws -> ReceiptQueryAnswer.Receipt {
        ReceiptQueryAnswer.Receipt(
            eventID: try #require(EventID(event)),
            installationID: InstallationID(phone.installation),
            category: .test,
            state: state,
            reason: reason,
            attempts: 1,
            createdAt: UnixSeconds(1),
            expiresAt: UnixSeconds(1801),
            updatedAt: UnixMilliseconds(1000),
            nextAttemptAt: nil
        )
    }
}
