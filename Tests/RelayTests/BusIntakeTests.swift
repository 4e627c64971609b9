import Bus
import Contracts
import HTTP2
import Loop
import RelayService
import ServiceKit
import TestKit
import Testing

@Suite("relay.send.v1", .timeLimit(.minutes(1)))
struct BusIntakeTests {
    /// All verdicts of one request by place, and in how many answers they came.
    private func ask(
        _ client: BusClient,
        _ messages: [RelaySend.Message],
        sendBy: RelaySend.Instant? = nil
    ) async throws -> [Int: RelayVerdicts.Verdict] {
        let verdicts = Locked([Int: RelayVerdicts.Verdict]())
        try await client.stream(
            RelaySend(messages: messages, sendBy: sendBy),
            timeout: .seconds(20)
        ) { answer in
            verdicts.withLock { verdicts in
                for verdict in answer.verdicts {
                    if verdicts.updateValue(verdict, forKey: verdict.index) != nil {
                        Issue.record("two verdicts for message \(verdict.index)")
                    }
                }
            }
            return !answer.last
        }
        return verdicts.withLock { $0 }
    }

    @Test(
        "Every message of a batch gets its verdict, in MessagePack and in JSON",
        arguments: [false, true]
    )
    func batch(forcesJSON: Bool) async throws {
        let relay = try await RelayFixture { push, connection in
            if push.path.hasSuffix("7") {
                connection.refuse(push, 410, "ExpiredToken", timestamp: 1_700_000_000_123)
            } else {
                connection.respond(push.stream, HTTP2ServerResponse(status: 200))
            }
        }
        let client = try relay.busClient(forcesJSON: forcesJSON)
        let verdicts = try await ask(client, try (0..<256).map { try relay.message($0) })
        #expect(verdicts.count == 256)
        #expect(verdicts.values.count { $0.outcome == .accepted } == 240)
        #expect(verdicts[7]?.cleanup == .dead)
        #expect(verdicts[7]?.reason == "ExpiredToken")
        #expect(verdicts[7]?.apnsTimestamp?.milliseconds == 1_700_000_000_123)
        #expect(verdicts[7]?.scope == .device)
        client.stop()
        try await relay.stop()
    }

    @Test("One slow message never holds the others back")
    func slow() async throws {
        let relay = try await RelayFixture { push, connection in
            if !push.path.hasSuffix("03") {
                connection.respond(push.stream, HTTP2ServerResponse(status: 200))
            }
        }
        let client = try relay.busClient()
        let known = Observed([RelayVerdicts.Verdict]())
        let messages = try (0..<10).map { try relay.message($0) }
        async let stream: Void = client.stream(
            RelaySend(messages: messages),
            timeout: .seconds(20)
        ) { answer in
            known.update { $0 += answer.verdicts }
            return !answer.last
        }
        await known.wait { $0.count == 9 }
        #expect(!known.value.contains { $0.index == 3 })
        let slow = try #require(relay.apns.seen.value.first { $0.path.hasSuffix("03") })
        await relay.onAPNs { server in
            for connection in server.openConnections {
                connection.respond(slow.stream, HTTP2ServerResponse(status: 200))
            }
        }
        try await stream
        #expect(known.value.last?.index == 3)
        client.stop()
        try await relay.stop()
    }

    @Test("Messages that break the contract, have expired or go elsewhere stop no other")
    func mixed() async throws {
        let relay = try await RelayFixture(["APNS_ENVIRONMENTS": "sandbox"])
        let client = try relay.busClient()
        let verdicts = try await ask(
            client,
            [
                try relay.message(0), try relay.message(1, expiresAt: 2_000_001_801),
                try relay.message(2, expiresAt: 2_000_000_000),
                try relay.message(3, environment: .production), try relay.message(4),
            ]
        )
        #expect(
            (0..<5).map { verdicts[$0]?.reason } == [
                "Accepted", "InvalidRequest", "Expired", "EnvironmentDisabled", "Accepted",
            ]
        )
        #expect(try await ask(client, []).isEmpty)
        client.stop()
        try await relay.stop()
    }

    @Test(
        "What lay unread until its check was too old is not sent, if the clock is the same",
        arguments: [false, true]
    )
    func unread(forcesJSON: Bool) async throws {
        let relay = try await RelayFixture()
        let client = try relay.busClient(forcesJSON: forcesJSON)
        let boot = try #require(HostBoot.identifier())
        let now = relay.time.monotonic.nanoseconds / 1_000_000
        let messages = try (0..<3).map { try relay.message($0) }
        let late = try await ask(client, messages, sendBy: .init(boot: boot, milliseconds: now - 1))
        #expect(late.count == 3)
        for verdict in late.values {
            #expect(verdict.outcome == .retryable && verdict.exposure == .none)
            #expect(verdict.reason == "RelayBusy" && verdict.scope == .relay)
        }
        #expect(relay.apns.seen.value.isEmpty)
        for instant in [
            RelaySend.Instant(boot: boot, milliseconds: now),
            .init(boot: "00000000-0000-4000-8000-000000000000", milliseconds: 0),
        ] {
            let verdicts = try await ask(client, messages, sendBy: instant)
            #expect(verdicts.values.allSatisfy { $0.outcome == .accepted })
        }
        client.stop()
        try await relay.stop()
    }

    @Test("Each environment has a host of its own, whatever comes side by side")
    func environments() async throws {
        let relay = try await RelayFixture()
        let client = try relay.busClient()
        let messages = try (0..<100).map {
            try relay.message($0, environment: $0 % 2 == 0 ? .sandbox : .production)
        }
        let verdicts = try await ask(client, messages)
        #expect(verdicts.values.allSatisfy { $0.outcome == .accepted })
        for (apns, rest) in [(relay.apns, 0), (relay.production, 1)] {
            let numbers = apns.seen.value.compactMap { Int($0.path.suffix(2), radix: 16) }
            #expect(numbers.count == 50)
            #expect(numbers.allSatisfy { $0 % 2 == rest })
        }
        client.stop()
        try await relay.stop()
    }

    @Test("Beyond its credit a principal is told to come back")
    func credit() async throws {
        let relay = try await RelayFixture(["BUS_CREDIT": "5"])
        let client = try relay.busClient()
        let verdicts = try await ask(client, try (0..<8).map { try relay.message($0) })
        #expect(verdicts.values.count { $0.outcome == .accepted } == 5)
        #expect(verdicts.values.count { $0.reason == "RelayBusy" && $0.scope == .relay } == 3)
        // The credit comes back with the verdicts.
        #expect(try await ask(client, [try relay.message(9)])[0]?.outcome == .accepted)
        client.stop()
        try await relay.stop()
    }

    @Test("Stopping lets APNs answer what is under way and tells the rest to come back")
    func stopping() async throws {
        let relay = try await RelayFixture { _, _ in }
        let client = try relay.busClient()
        let known = Observed([RelayVerdicts.Verdict]())
        let messages = try (0..<5).map { try relay.message($0) }
        async let stream: Void = client.stream(
            RelaySend(messages: messages),
            timeout: .seconds(20)
        ) { answer in
            known.update { $0 += answer.verdicts }
            return !answer.last
        }
        // One stream until the first success: the others wait.
        await relay.apns.seen.wait { $0.count == 1 }
        relay.beginStop()
        await known.wait { $0.count == 4 }
        for verdict in known.value {
            #expect(verdict.outcome == .retryable && verdict.exposure == .none)
            #expect(verdict.reason == "RelayBusy" && verdict.scope == .relay)
        }
        let seen = try #require(relay.apns.seen.value.first)
        await relay.onAPNs { server in
            for connection in server.openConnections {
                connection.respond(seen.stream, HTTP2ServerResponse(status: 200))
            }
        }
        try await stream
        #expect(known.value.count == 5)
        #expect(known.value.last?.outcome == .accepted)
        #expect(relay.apns.seen.value.count == 1)
        client.stop()
        try await relay.stop()
    }

    @Test("Without credentials every message is held by the relay, none is lost")
    func notConfigured() async throws {
        let relay = try await RelayFixture(hasCredentials: false)
        let client = try relay.busClient()
        let verdicts = try await ask(client, try (0..<3).map { try relay.message($0) })
        #expect(verdicts.values.count { $0.reason == "RelayNotConfigured" } == 3)
        #expect(verdicts.values.allSatisfy { $0.outcome == .retryable && $0.exposure == .none })
        client.stop()
        try await relay.stop()
    }

    @Test("Status names the missing credentials")
    func status() async throws {
        let relay = try await RelayFixture(hasCredentials: false)
        let client = try relay.busClient()
        let status = try await client.ask(ServiceStatus(), timeout: .seconds(10))
        #expect(status.service == "relay")
        #expect(!status.ready)
        #expect(status.conditions["credentials"]?.contains("APNS_KEY_FILE") == true)
        client.stop()
        try await relay.stop()
    }
}
