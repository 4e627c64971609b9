import Contracts
import FoundationEssentials
import Glibc
import HTTPClient
import Loop
import ServiceKit
import TestKit
import Testing
import Topology

/// One world in which services are killed step by step, and what has to come of it.
actor KillRun {
    struct Step: Sendable {
        let service: PushBusService
        let moment: String
        let trigger: KillTrigger
    }

    static func steps<Steps: KillStep>(_ type: Steps.Type) -> [Step] {
        Steps.allCases.map {
            Step(service: Steps.service, moment: $0.rawValue, trigger: $0.trigger)
        }
    }

    private let world: World
    private let phones: [TestPhone]
    /// Phones whose token died, each with the event that found out.
    private var dead: [(phone: TestPhone, event: EventID)] = []
    private var alerts: [EventID] = []
    private var tests: [EventID] = []
    /// Events whose end came before anything could be sent.
    private var expired: [EventID] = []
    private var number = 0

    init(_ world: World) async throws {
        self.world = world
        phones = [try await world.phone("alice"), try await world.phone("bob")]
    }

    /// Lets a service die at a step, starts it again and finishes what led there.
    func kill(at step: Step) async throws {
        let action = try await action(for: step.trigger)
        let name = world.running.topology.processName(of: step.service)
        let supervisor = world.running.supervisor
        let isStart = if case .start = step.trigger { true } else { false }
        if isStart { await supervisor.kill(name) }
        try CrashFiles.arm(step.moment, step.service, in: world.directory.path)
        if isStart { try supervisor.start(name) }
        // A request over HTTP may end with the process; it is made again below.
        let first = Task { try await action() }
        let status = try? await within(.seconds(20)) { await supervisor.waitForExit(name) }
        guard case .killed(SIGKILL) = status else {
            throw SystemTestFailure("\(step.service) never came to '\(step.moment)'")
        }
        try supervisor.start(name)
        guard await supervisor.waitUntilReady(name) else {
            throw SystemTestFailure("\(name) did not come back after '\(step.moment)'")
        }
        if step.service == .registration { follow() }
        if case .failure = await first.result { try await action() }
        if case .expiry(let absent) = step.trigger {
            try await waitUntilExpired()
            try supervisor.start(world.running.topology.processName(of: absent))
        }
    }

    /// Registration listens at another port after each start.
    private func follow() {
        let port = world.running.ports(of: .registration)["http"] ?? 0
        for phone in phones + dead.map(\.phone) { phone.move(to: "http://127.0.0.1:\(port)") }
    }

    /// What brings a service to a step; it may be done twice.
    private func action(for trigger: KillTrigger) async throws -> @Sendable () async throws -> Void
    {
        let world = world
        let phone = phones[0]
        switch trigger {
        case .start: return {}
        case .signIn: return { try await self.signIn() }
        case .expiry(let absent):
            _ = await world.running.supervisor.kill(
                world.running.topology.processName(of: absent)
            )
            let end = SystemTime().wall.adding(milliseconds: 2500).rfc3339
            number += 1
            let event = Alerts.triggered(number, until: end)
            return { await self.note(expired: try await world.publish([event])) }
        case .test:
            let event = EventID(UUID())
            tests.append(event)
            return { _ = try await phone.test(event) }
        case .outage(let absent):
            let name = world.running.topology.processName(of: absent)
            let supervisor = world.running.supervisor
            await supervisor.kill(name)
            return {
                _ = try await self.publish()
                if supervisor.processID(of: name) == nil { try supervisor.start(name) }
                _ = await supervisor.waitUntilReady(name)
                await self.follow()
            }
        case .alert: return { _ = try await self.publish() }
        case .deadToken:
            let victim = try await world.phone("victim\(dead.count)")
            try await letDie(victim)
            return {
                let event = try await self.publish()
                await self.note(victim, event)
            }
        }
    }

    /// Returns when the latest of the events that had a short life has ended for everybody.
    private func waitUntilExpired() async throws {
        guard let event = expired.last else { return }
        let history = History(world: world, phones: phones)
        while true {
            let query = EventQuery(eventID: event)
            let state = try await world.ask(.eventIngest, query).events.first?.state
            if state == .expired { return }
            var states: [ReceiptState] = []
            for phone in phones where state == .fannedOut {
                let rows = try await history.receipts(of: phone)
                states += rows.filter { $0.eventID == event }.map(\.state)
            }
            if states == [.expired, .expired] { return }
            try Task.checkCancellation()
        }
    }

    private func note(expired events: [EventID]) { expired += events }

    /// A phone of an account of its own comes and goes.
    private func signIn() async throws {
        number += 1
        let name = "guest\(number)"
        _ = try await world.ask(
            .registration,
            UserAdd(username: name, password: Password("correct horse battery"), role: .member)
        )
        let code = try await world.ask(.registration, PairingCreate(username: name)).code
        let phone = try TestPhone(
            http: world.http,
            server: "http://127.0.0.1:\(world.running.ports(of: .registration)["http"] ?? 0)",
            installation: InstallationID("phone-\(name)")
        )
        try await phone.pair(code)
        try await phone.subscribe()
        try await phone.logout()
    }

    private func note(_ victim: TestPhone, _ event: EventID) { dead.append((victim, event)) }

    private func publish() async throws -> EventID {
        number += 1
        let events = try await world.publish([Alerts.triggered(number)])
        alerts += events
        guard let event = events.first else { throw SystemTestFailure("no event") }
        return event
    }

    /// From now on APNs says of this phone that the app is gone.
    private func letDie(_ phone: TestPhone) async throws {
        let script = #"{"outcomes":[{"reason":"Unregistered","count":0}]}"#
        let reply = try await world.http.send(
            HTTPClientRequest(
                method: "PUT",
                url: "\(world.simulator)/tokens/\(phone.token.hex)/script",
                body: Array(script.utf8),
                timeout: .seconds(10)
            )
        )
        guard reply.status == 204 else { throw SystemTestFailure("script \(reply.status)") }
    }

    // MARK: - What has to come of it

    func check() async throws {
        let history = History(world: world, phones: phones)
        let findings = try await history.check([
            (phones[0], alerts + tests), (phones[1], alerts),
        ])
        for (phone, event) in dead {
            let rows = try await history.receipts(of: phone).filter { $0.eventID == event }
            #expect(rows.map(\.state) == [.permanent])
            #expect(rows.map(\.reason) == ["Unregistered"])
        }
        for event in Set(expired) {
            let state = try await world.ask(.eventIngest, EventQuery(eventID: event)).events.first
            #expect([.expired, .fannedOut].contains(state?.state))
            for phone in phones {
                let rows = try await history.receipts(of: phone).filter { $0.eventID == event }
                #expect(rows.allSatisfy { $0.state == .expired })
                #expect(rows.count == (state?.state == .fannedOut ? 1 : 0))
            }
        }
        try await checkCleanups(history)
        print(
            "kill matrix: \(alerts.count) alerts, \(tests.count) tests, \(dead.count) dead tokens, "
                + "\(expired.count) ended unsent; of the rest \(findings)"
        )
    }

    /// Every dead token reached Registration, so no event has a row for it any more.
    private func checkCleanups(_ history: History) async throws {
        while try await world.ask(.delivery, OutboxStatus()).cleanupsWaiting > 0 {
            try Task.checkCancellation()
        }
        let last = try await publish()
        try await history.check([
            (phones[0], alerts + tests), (phones[1], alerts),
        ])
        for (phone, _) in dead {
            let rows = try await history.receipts(of: phone).filter { $0.eventID == last }
            #expect(rows.isEmpty, "a row for a phone whose token is known to be dead")
        }
    }

    /// Every commit, send and acknowledgement that took place is a step of the matrix.
    nonisolated func checkCompleteness() throws {
        let lists: [[Step]] = [
            Self.steps(RegistrationStep.self), Self.steps(EventIngestStep.self),
            Self.steps(FanoutStep.self), Self.steps(DeliveryStep.self),
            Self.steps(RelayStep.self),
        ]
        for steps in lists {
            guard let service = steps.first?.service else { continue }
            let reached = try CrashFiles.reached(service, in: world.directory.path)
            let missing = reached.subtracting(steps.map(\.moment)).filter { moment in
                !Self.apart.contains { moment.hasPrefix($0) }
            }
            #expect(missing.isEmpty, "\(service) has steps where nobody kills it")
        }
    }

    /// What tests and operators ask, and what only setting up a phone does.
    private static let apart = [
        "service.status.", "outbox.admin.", "receipt.query.", "event.admin.",
        "registration.admin.", "GET ", "reject.v1 ",
    ]
}
