import Bus
import Contracts
import FanoutService
import Loop
import PushBusCrypto
import ServiceKit
import TestKit
import Testing

@Suite(.timeLimit(.minutes(2))) struct FanoutServiceTests {
    @Test func anAudienceOfOnePageIsOneBatchAndOneReport() async throws {
        let world = try FanoutWorld(installations: 50)
        world.skipped.update { $0 = ["unsubscribed": 3] }
        try await world.start()
        try await world.withFanout { client, _ in
            try await world.hand(client, FanoutWorld.event())
            await world.ingest.wait { $0.isDone }
        }
        #expect(world.rows.value.batches == [50])
        #expect(world.ingest.value.reports.count == 1)
        #expect(world.ingest.value.written == 50)
        #expect(world.ingest.value.skipped == ["unsubscribed": 3])
        try await world.end()
    }

    /// Names that are too long, in scripts whose characters have many parts.
    @Test(arguments: [
        "\u{1F469}\u{200D}\u{1F52C}", "e\u{301}\u{323}", "\u{202E}\u{0644}\u{0651}\u{064E}",
        "a\u{0}",
    ]) func everyEnvelopeOpensForItsRecipientOnly(name: String) async throws {
        let world = try FanoutWorld(installations: 5)
        try await world.start()
        let event = FanoutWorld.event(
            rule: String(repeating: name, count: 400)
        )
        try await world.withFanout { client, _ in
            try await world.hand(client, event)
            await world.ingest.wait { $0.isDone }
        }
        let key = try #require(ContentKey(FanoutWorld.key))
        var nonces: Set<[UInt8]> = []
        for recipient in world.audience.value {
            let record = try #require(world.rows.value.byInstallation[recipient.installationID])
            let envelope = try #require(record.envelope)
            let plaintext = try EnvelopeSealer.open(
                envelope,
                key: key,
                keyID: recipient.keyID,
                recipient: EnvelopeIdentity(
                    deploymentID: recipient.deploymentID,
                    userID: recipient.userID,
                    installationID: recipient.installationID
                )
            )
            #expect(plaintext.eventID == event.eventID)
            guard case .alert(let alert) = plaintext.content else {
                Issue.record("not an alert")
                continue
            }
            #expect(!alert.ruleName.isEmpty)
            #expect(alert.ruleName.allSatisfy { name.contains($0) }, "cut inside a character")
            #expect(try plaintext.encoded().count <= Envelope.plaintextLimit)
            #expect(plaintext.expiresAt == event.expiresAt)
            #expect(record.binding == recipient.binding)
            nonces.insert(envelope.nonce.bytes)
        }
        #expect(nonces.count == 5)
        try await world.end()
    }

    @Test func aThousandInstallationsEachGetOneRow() async throws {
        let world = try FanoutWorld(installations: 1000)
        try await world.start()
        try await world.withFanout { client, _ in
            try await world.hand(client, FanoutWorld.event())
            await world.ingest.wait { $0.isDone }
        }
        #expect(world.rows.value.byInstallation.count == 1000)
        #expect(world.rows.value.duplicates == 0)
        #expect(world.ingest.value.written == 1000)
        #expect(world.ingest.value.cursor == world.audience.value.last?.installationID)
        try await world.end()
    }

    @Test func anEmptyAudienceIsDoneAtOnce() async throws {
        let world = try FanoutWorld(installations: 0)
        try await world.start()
        try await world.withFanout { client, _ in
            try await world.hand(client, FanoutWorld.event())
            await world.ingest.wait { $0.isDone }
        }
        #expect(world.rows.value.batches.isEmpty)
        #expect(world.ingest.value.cursor == nil)
        try await world.end()
    }

    @Test func oneBadKeyStopsNobodyElse() async throws {
        let world = try FanoutWorld(installations: 10)
        world.audience.update { $0[4].contentKey = nil }
        world.audience.update { $0[7].deploymentID = .init(String(repeating: "d", count: 3000)) }
        try await world.start()
        try await world.withFanout { client, context in
            try await world.hand(client, FanoutWorld.event())
            await world.ingest.wait { $0.isDone }
            #expect(context.metrics.snapshot()["pushbus_fanout_unsealable_total"] == 2)
        }
        let rows = world.rows.value.byInstallation
        #expect(rows.count == 10)
        let failures = world.audience.value.map { rows[$0.installationID]?.failure }
        #expect(failures[4] == "bad_content_key")
        #expect(failures[7] == "plaintext_too_large")
        #expect(failures.count { $0 != nil } == 2)
        try await world.end()
    }

    @Test(arguments: [FanoutWorld.Mood.busy(700), .silent, .broken, .forgetful])
    func whenDeliveryRefusesTheEventGoesBack(_ mood: FanoutWorld.Mood) async throws {
        let world = try FanoutWorld(installations: 250)
        try await world.start()
        world.deliveryMood.update { $0 = mood }
        try await world.withFanout(patience: .milliseconds(300)) { client, _ in
            let event = FanoutWorld.event()
            try await world.hand(client, event)
            await world.ingest.wait { $0.backs >= 1 }
            let report = try #require(world.ingest.value.reports.last)
            #expect(report.to == nil)
            #expect(report.written == 0)
            switch mood {
            case .busy(let delay): #expect(report.delayMilliseconds == delay)
            case .silent: #expect(report.delayMilliseconds == 2_000)
            default: #expect(report.delayMilliseconds == 15_000)
            }
            world.deliveryMood.update { $0 = .willing }
            await handUntilDone(world, client, event)
        }
        #expect(world.rows.value.byInstallation.count == 250)
        try await world.end()
    }

    @Test(arguments: [FanoutWorld.Mood.busy(700), .silent, .broken])
    func whenRegistrationIsOutTheEventGoesBack(_ mood: FanoutWorld.Mood) async throws {
        let world = try FanoutWorld(installations: 250)
        try await world.start()
        world.registrationMood.update { $0 = mood }
        try await world.withFanout(patience: .milliseconds(300)) { client, _ in
            let event = FanoutWorld.event()
            try await world.hand(client, event)
            await world.ingest.wait { $0.backs >= 1 }
            world.registrationMood.update { $0 = .willing }
            await handUntilDone(world, client, event)
        }
        #expect(world.rows.value.byInstallation.count == 250)
        try await world.end()
    }

    /// EventIngest's part after a `back`: hands out again, without waiting for the delay.
    private func handUntilDone(
        _ world: FanoutWorld,
        _ client: BusClient,
        _ event: EventAdmitted
    ) async {
        while !world.ingest.value.isDone {
            // While the given-back course is still ending, the hand-off counts as a repeat.
            try? await world.hand(client, event)
            let reports = world.ingest.value.reports.count
            _ = try? await within(.milliseconds(500)) {
                await world.ingest.wait { $0.reports.count > reports || $0.isDone }
            }
        }
    }

    @Test func aFanoutWhoseCursorIsElsewhereDropsTheEvent() async throws {
        let world = try FanoutWorld(installations: 300)
        try await world.start()
        try await world.withFanout { client, context in
            let last = try #require(world.audience.value.last?.installationID)
            // Another Fanout was faster and has reported everything but the end.
            world.ingest.update { $0.cursor = last }
            var event = FanoutWorld.event()
            event.cursor = nil
            _ = try await client.ask(event, timeout: .seconds(10))
            try await ending(of: context, "elsewhere")
        }
        #expect(world.ingest.value.reports.isEmpty)
        try await world.end()
    }

    @Test func aSilentEventIngestLosesNothing() async throws {
        let world = try FanoutWorld(installations: 20)
        try await world.start()
        world.ingestMood.update { $0 = .silent }
        try await world.withFanout(patience: .milliseconds(300)) { client, context in
            let event = FanoutWorld.event()
            try await world.hand(client, event)
            try await ending(of: context, "unanswered")
            world.ingestMood.update { $0 = .willing }
            await handUntilDone(world, client, event)
        }
        #expect(world.rows.value.byInstallation.count == 20)
        #expect(world.ingest.value.written == 20)
        try await world.end()
    }

    @Test func aDuplicateHandOffIsAcknowledgedAndRunsOnce() async throws {
        let world = try FanoutWorld(installations: 100)
        try await world.start()
        world.registrationMood.update { $0 = .silent }
        try await world.withFanout(patience: .milliseconds(300)) { client, context in
            let event = FanoutWorld.event()
            for _ in 0..<5 { try await world.hand(client, event) }
            #expect(context.metrics.snapshot()["pushbus_fanout_repeated_total"] == 4)
            world.registrationMood.update { $0 = .willing }
            await handUntilDone(world, client, event)
        }
        try await world.end()
    }

    @Test func moreEventsThanAllowedAreAskedToWait() async throws {
        let world = try FanoutWorld(installations: 1)
        try await world.start()
        world.registrationMood.update { $0 = .silent }
        try await world.withFanout(events: 2, patience: .milliseconds(300)) { client, _ in
            try await world.hand(client, FanoutWorld.event())
            try await world.hand(client, FanoutWorld.event())
            await #expect {
                try await world.hand(client, FanoutWorld.event())
            } throws: { error in
                guard case BusFailure.rejected(let reject)? = error as? BusFailure else {
                    return false
                }
                return reject.code == .retryAfter && reject.retryAfterMilliseconds == 1000
            }
        }
        try await world.end()
    }

    @Test func anExpiredEventIsDropped() async throws {
        let world = try FanoutWorld(installations: 10)
        try await world.start()
        try await world.withFanout { client, context in
            try await world.hand(client, FanoutWorld.event(expiresIn: -1))
            try await ending(of: context, "expired")
        }
        #expect(world.rows.value.batches.isEmpty)
        #expect(world.pagesAsked.value == 0)
        try await world.end()
    }

    @Test func stoppingGivesBackWhatIsNotDone() async throws {
        let world = try FanoutWorld(installations: 500)
        try await world.start()
        world.deliveryMood.update { $0 = .silent }
        try await world.withFanout(patience: .milliseconds(300)) { client, _ in
            try await world.hand(client, FanoutWorld.event())
            await world.pagesAsked.wait { $0 > 0 }
        }
        // A resent report of the same cursor counts again and moves nothing.
        #expect(world.ingest.value.backs >= 1)
        try await world.end()
    }

    @Test func itTellsItsStatus() async throws {
        let world = try FanoutWorld(installations: 1)
        try await world.withFanout { client, _ in
            let status = try await client.ask(ServiceStatus(), timeout: .seconds(10))
            #expect(status.service == "fanout")
            #expect(status.ready)
            #expect(status.metrics["pushbus_fanout_events"] == 0)
        }
    }

    /// Waits until an event has ended in this way.
    private func ending(of context: ProcessContext, _ ending: String) async throws {
        let name = "pushbus_fanout_events_total{ending=\"\(ending)\"}"
        try await within(.seconds(20)) {
            while context.metrics.snapshot()[name] != 1 {
                try Task.checkCancellation()
                await Task.yield()
            }
        }
    }
}
