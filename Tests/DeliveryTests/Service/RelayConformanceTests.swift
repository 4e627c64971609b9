import Contracts
import DeliveryService
import Loop
import ServiceKit
import TestKit
import Testing

/// A relay on the bus, a relay over HTTPS, and a relay that answers the reference contract alone lead
/// to the same receipts, clean-ups and pauses, as far as the contract can say it.
@Suite(.serialized, .timeLimit(.minutes(3))) struct RelayConformanceTests {
    enum Way: String, CaseIterable, Sendable {
        case bus
        case https
        case contractAlone
    }

    /// What is seen after one message.
    struct Seen: Hashable, Sendable {
        var state: ReceiptState
        var reason: String?
        var attempts: Int64
        var cleanup: CleanupKind?
        var isPaused = false
    }

    struct Course: CustomTestStringConvertible, Sendable {
        var testDescription: String { reply.reason }
        var reply: StubRelay.Reply
        var seen: Seen
        /// Where the reference contract says less.
        var seenByContractAlone: Seen?
        /// How often the relay answers so before it is silent.
        var repeats = 1
    }

    static let courses: [Course] = [
        Course(
            reply: .accepted,
            seen: Seen(state: .accepted, attempts: 1)
        ),
        Course(
            reply: .init(
                outcome: .permanent,
                reason: "ExpiredToken",
                scope: .device,
                cleanup: .dead,
                timestamp: UnixMilliseconds(1_750_000_000_000),
                publicReason: "Unregistered",
                isDeviceInvalid: true
            ),
            seen: Seen(state: .permanent, reason: "ExpiredToken", attempts: 1, cleanup: .dead),
            seenByContractAlone: Seen(
                state: .permanent,
                reason: "Unregistered",
                attempts: 1,
                cleanup: .suspect
            )
        ),
        Course(
            reply: .init(
                outcome: .permanent,
                reason: "BadDeviceToken",
                scope: .device,
                cleanup: .suspect,
                publicReason: "DeviceOrEnvironmentMismatch"
            ),
            seen: Seen(
                state: .permanent,
                reason: "BadDeviceToken",
                attempts: 1,
                cleanup: .suspect
            ),
            seenByContractAlone: Seen(
                state: .permanent,
                reason: "DeviceOrEnvironmentMismatch",
                attempts: 1,
                cleanup: .suspect
            )
        ),
        Course(
            reply: .init(
                outcome: .permanent,
                reason: "DeviceTokenNotForTopic",
                scope: .device,
                cleanup: .topic,
                publicReason: "ProviderConfigurationOrPayload"
            ),
            seen: Seen(
                state: .permanent,
                reason: "DeviceTokenNotForTopic",
                attempts: 1,
                cleanup: .topic
            ),
            seenByContractAlone: Seen(
                state: .permanent,
                reason: "ProviderConfigurationOrPayload",
                attempts: 1
            )
        ),
        Course(
            reply: .init(
                outcome: .permanent,
                reason: "PayloadTooLarge",
                exposure: .none
            ),
            seen: Seen(state: .permanent, reason: "PayloadTooLarge", attempts: 0)
        ),
        Course(
            reply: .init(
                outcome: .permanent,
                reason: "EnvironmentDisabled",
                scope: .relay,
                exposure: .none,
                status: 400
            ),
            seen: Seen(state: .permanent, reason: "EnvironmentDisabled", attempts: 0)
        ),
        Course(
            reply: .init(
                outcome: .retryable,
                reason: "NetworkUnavailable",
                scope: .provider,
                exposure: .ambiguous,
                retryAfter: 60_000
            ),
            seen: Seen(state: .retryable, reason: "NetworkUnavailable", attempts: 1)
        ),
        Course(
            reply: .init(
                outcome: .retryable,
                reason: "ServiceUnavailable",
                scope: .provider,
                retryAfter: 60_000,
                publicReason: "ProviderUnavailable"
            ),
            seen: Seen(state: .retryable, reason: "ServiceUnavailable", attempts: 1),
            seenByContractAlone: Seen(
                state: .retryable,
                reason: "ProviderUnavailable",
                attempts: 1
            )
        ),
        Course(
            reply: .init(
                outcome: .retryable,
                reason: "InvalidProviderToken",
                scope: .provider,
                exposure: .none,
                retryAfter: 60_000,
                publicReason: "ProviderUnavailable"
            ),
            seen: Seen(
                state: .pending,
                reason: "InvalidProviderToken",
                attempts: 0,
                isPaused: true
            ),
            // It cannot say that the message was held back, nor why.
            seenByContractAlone: Seen(
                state: .retryable,
                reason: "ProviderUnavailable",
                attempts: 1
            )
        ),
        Course(
            reply: .init(
                outcome: .retryable,
                reason: "RelayBusy",
                scope: .relay,
                exposure: .none,
                retryAfter: 60_000,
                status: 503
            ),
            seen: Seen(state: .pending, reason: "RelayBusy", attempts: 0, isPaused: true)
        ),
        Course(
            reply: .init(
                outcome: .retryable,
                reason: "RateLimited",
                scope: .relay,
                exposure: .none,
                retryAfter: 60_000,
                status: 429
            ),
            seen: Seen(state: .pending, reason: "RateLimited", attempts: 0, isPaused: true)
        ),
        // It goes again at once; the second answer is the one that waits here.
        Course(
            reply: .init(
                outcome: .retryable,
                reason: "RequestTimeout",
                scope: .connection,
                exposure: .none,
                status: 408
            ),
            seen: Seen(state: .pending, reason: "RequestTimeout", attempts: 0),
            repeats: 3
        ),
        Course(
            reply: .init(
                outcome: .permanent,
                reason: "RelayNotConfigured",
                scope: .relay,
                exposure: .none,
                retryAfter: 60_000,
                status: 503
            ),
            seen: Seen(state: .pending, reason: "RelayNotConfigured", attempts: 0, isPaused: true)
        ),
        Course(
            reply: .init(
                outcome: .permanent,
                reason: "InvalidRequest",
                exposure: .none,
                status: 400
            ),
            seen: Seen(state: .pending, reason: "InvalidRequest", attempts: 0)
        ),
        // The sender's clock is ahead of the relay's: an alarm, and later once more.
        Course(
            reply: .init(outcome: .expired, reason: "Expired", exposure: .none),
            seen: Seen(state: .pending, reason: "RelayClock", attempts: 0)
        ),
        Course(
            reply: .init(outcome: .permanent, reason: "SomethingNew"),
            seen: Seen(state: .permanent, reason: "SomethingNew", attempts: 1)
        ),
    ]

    @Test(arguments: Way.allCases, courses)
    func theSameIsSeen(_ way: Way, _ course: Course) async throws {
        let gate = StopSignal()
        let answers = Observed(0)
        try await Self.withRelay(way) { world in
            defer { gate.trigger() }
            world.relay.answer { _ in
                answers.update { $0 += 1 }
                if answers.value <= course.repeats { return course.reply }
                // What follows must not change what is looked at.
                await gate.wait()
                return .accepted
            }
            _ = try await world.ask(Samples.fresh(1, 0..<1, world.time))
            let expected =
                way == .contractAlone ? course.seenByContractAlone ?? course.seen : course.seen
            let seen = try await Self.seen(world, until: expected)
            #expect(seen == expected)
        }
    }

    /// Waits until the row was decided about once.
    private static func seen(_ world: DeliveryWorld, until expected: Seen) async throws -> Seen {
        try await within(.seconds(20)) {
            var receipt = try await world.receipts().first
            while receipt?.reason == nil && receipt?.state != .accepted {
                receipt = try await world.receipts().first
            }
            var cleanup: CleanupKind?
            if expected.cleanup != nil {
                let told = await world.registration.state.wait { !$0.cleanups.isEmpty }
                cleanup = told?.cleanups.first?.items.first?.kind
            }
            return Seen(
                state: receipt?.state ?? .pending,
                reason: receipt?.reason,
                attempts: receipt?.attempts ?? -1,
                cleanup: cleanup,
                isPaused: world.metrics.render().contains("pushbus_delivery_paused 1")
            )
        }
    }

    @Test(arguments: Way.allCases) func manyAreSentOnceEach(_ way: Way) async throws {
        try await Self.withRelay(way) { world in
            let batch = Samples.fresh(1, 0..<200, world.time)
            _ = try await world.ask(batch)
            try await world.wait(for: 200, .accepted)
            let sent = world.relay.state.value.messages
            #expect(sent.count == 200)
            #expect(Set(sent.map(\.deviceToken)).count == 200)
            #expect(Set(sent.map(\.envelope)) == Set(batch.records.compactMap(\.envelope)))
            #expect(sent.allSatisfy { $0.eventID == batch.eventID && $0.environment == .sandbox })
            #expect(try await world.receipts().allSatisfy { $0.attempts == 1 })
        }
    }

    /// Runs a world whose relay is reached on that way.
    static func withRelay(
        _ way: Way,
        _ body: (DeliveryWorld) async throws -> Void
    ) async throws {
        guard way != .bus else { return try await withWorld(body) }
        let folder = try TemporaryDirectory()
        let world = try DeliveryWorld(folder: folder.path)
        let registration = try await world.startRegistration()
        let endpoint = HTTPSRelay(world.relay, way == .https ? .withHeaders : .contractAlone)
        let relay = try await world.startRelay(over: endpoint)
        let delivery = try await world.startDelivery(relay.settings)
        var failure: (any Error)?
        do { try await body(world) } catch { failure = error }
        try await delivery.stop()
        await relay.stop()
        try await registration.stop()
        if let failure { throw failure }
    }
}
