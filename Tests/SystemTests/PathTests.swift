import Bus
import Contracts
import FoundationEssentials
import Loop
import ServiceKit
import TestKit
import Testing
import Topology

/// The whole path with real processes.
@Suite("The path of an event", .serialized)
struct PathTests {
    @Test("trigger and recovery reach a phone, a signed-out phone gets nothing")
    func alerts() async throws {
        try await World.run { world in
            let alice = try await world.phone("alice", role: .admin)
            let bob = try await world.phone("bob")
            let history = History(world: world, phones: [alice, bob])
            let first = try await world.publish([Alerts.triggered(1), Alerts.resolved(1)])
            try await history.check(first)
            #expect(try await world.publish([Alerts.triggered(1)]) == [first[0]])

            try await bob.logout()
            let second = try await world.publish([Alerts.triggered(2)])
            try await History(world: world, phones: [alice]).check(first + second)
            #expect(try await history.received(by: bob).count == 2)
        }
    }

    @Test("a targeted test reaches the phone that asked and no other")
    func targetedTest() async throws {
        try await World.run { world in
            let alice = try await world.phone("alice")
            let bob = try await world.phone("bob")
            let event = EventID(UUID())
            #expect(try await alice.test(event)["outcome"] == .string("pending"))
            while try await alice.testOutcome(event)["outcome"] == .string("pending") {
                try Task.checkCancellation()
            }
            let outcome = try await alice.testOutcome(event)
            #expect(outcome["outcome"] == .string("accepted"))
            #expect(outcome["presentation"] == .string("unobserved"))
            let history = History(world: world, phones: [alice, bob])
            #expect(try await history.received(by: alice).count == 1)
            #expect(try await history.received(by: bob).isEmpty)
            await #expect(throws: SystemTestFailure.self) { try await bob.testOutcome(event) }
        }
    }

    @Test("services that start before their peers wait for them")
    func startOrder() async throws {
        try await World.run { world in
            let names = world.running.topology
            let supervisor = world.running.supervisor
            let alice = try await world.phone("alice")
            for service in [PushBusService.registration, .fanout, .delivery, .relay] {
                _ = await supervisor.stop(names.processName(of: service))
            }
            let events = try await world.publish([Alerts.triggered(1)])
            for service in [PushBusService.relay, .delivery, .fanout, .registration] {
                try supervisor.start(names.processName(of: service))
            }
            try await History(world: world, phones: [alice]).check(events)
        }
    }

    @Test("a stub in place of the Relay is served like the Relay")
    func stubbedRelay() async throws {
        let received = Locked<[RelaySend.Message]>([])
        try await World.run({ $0[.relay].presence = .stubbed }) { world in
            var routes = BusRoutes()
            routes.stream(RelaySend.self) { (request, _, emit) throws(Reject) in
                let first = received.withLock { seen in
                    defer { seen += request.messages }
                    return seen.isEmpty
                }
                // The first attempt fails in a way that leaves open whether it was accepted.
                _ = await emit(
                    RelayVerdicts(
                        verdicts: request.messages.indices.map {
                            .init(
                                index: $0,
                                outcome: first ? .retryable : .accepted,
                                reason: first ? "NetworkUnavailable" : "Accepted",
                                scope: .message,
                                exposure: first ? .ambiguous : .answered
                            )
                        },
                        last: true
                    )
                )
            }
            let socket = try #require(world.running.topology.endpoints(of: .relay).first)
            let stub = try BusServer(
                runtime: world.bus,
                name: "relay",
                endpoint: BusEndpoint(parsing: socket),
                security: .trustedDirectory,
                routes: routes,
                metrics: Metrics(),
                log: .silent
            )
            let stop = StopSignal()
            async let serving: Void = stub.run(until: stop)
            let alice = try await world.phone("alice")
            let events = try await world.publish([Alerts.triggered(1)])
            let history = History(world: world, phones: [alice])
            var receipts = try await history.receipts(of: alice)
            while receipts.first?.state != .accepted {
                try Task.checkCancellation()
                receipts = try await history.receipts(of: alice)
            }
            #expect(receipts.map(\.eventID) == events)
            #expect(receipts.first?.attempts == 2)
            #expect(received.withLock { $0.map(\.deviceToken) } == [alice.token, alice.token])
            stop.trigger()
            try await serving
        }
    }

    @Test("a slow, cut and silent link between Delivery and Relay loses nothing")
    func faultyRelayLink() async throws {
        try await World.run({ $0[.relay].presence = .behindFaultProxy }) { world in
            let alice = try await world.phone("alice")
            let proxy = try #require(world.running.proxies(of: .relay).first)
            await proxy.set { $0.delay = .milliseconds(20) }
            var events = try await world.publish((0..<20).map(Alerts.triggered))
            await proxy.dropConnections()
            await proxy.set { $0.swallowsAnswers = true }
            events += try await world.publish((20..<25).map(Alerts.triggered))
            while proxy.statistics.bytesForward == 0 { try Task.checkCancellation() }
            await proxy.set {
                $0.swallowsAnswers = false
                $0.delay = .zero
            }
            await proxy.dropConnections()
            try await History(world: world, phones: [alice]).check(events)
        }
    }
}
