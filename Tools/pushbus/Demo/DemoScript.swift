import Commands
import Contracts
import ServiceKit
import Topology

/// The story of the demo on a running stack; what does not happen in time ends it with an error.
struct DemoScript: Sendable {
    let stack: Stack
    let bus: BusSession
    let phones: Supervisor
    let alice: DemoPhone
    let bob: DemoPhone
    let story: DemoStory

    private static let patience = Duration.seconds(15)
    private let time = SystemTime()

    /// Plays all of it and returns what was published and shown.
    func play() async throws -> DemoLedger {
        var ledger = DemoLedger()
        try await enrol()
        let cpu = cycle("CPU high", "web-1")
        story.say("An alert triggers; both phones are to show it.")
        try await publish(.alertTriggered, cpu, for: [alice, bob], &ledger)
        story.say("The alert recovers; both phones are to show that.")
        try await publish(.alertResolved, cpu, for: [alice, bob], &ledger)
        try await outage(&ledger)
        try await signOut(&ledger)
        ledger.banners = alice.banners + bob.banners
        return ledger
    }

    // MARK: Chapters

    private func enrol() async throws {
        story.say("Two accounts: alice (admin) and bob (member). Each phone trades a pairing code,")
        story.more("switches alerts on and registers a token and a content key of its own.")
        for (phone, role, language) in [(alice, Role.admin, "en"), (bob, Role.member, "zh-Hans")] {
            let password = RandomSource.system.bytes(16).map { String($0, radix: 16) }.joined()
            let added = try await bus.ask(
                UserAdd(username: phone.name, password: Password(password), role: role),
                of: .registration
            )
            guard added.added else { throw CommandFailure("account \(phone.name) exists already") }
            let pairing = try await bus.ask(
                PairingCreate(username: phone.name),
                of: .registration
            )
            try phones.add([
                DemoPhone.plan(phone, pairing: pairing, language: language, stack: stack)
            ])
            try phones.start(phone.name)
            try phone.watch.startReading()
        }
        for phone in [alice, bob] {
            _ = try await phone.watch.first("registering", within: Self.patience) {
                $0.event == "registered"
            }
        }
    }

    private func outage(_ ledger: inout DemoLedger) async throws {
        story.say("The Relay is stopped. An alert triggers all the same and waits in the outbox.")
        await stack.services.supervisor.stop("relay")
        let disk = cycle("Disk full", "db-1")
        let event = try await send(.alertTriggered, disk)
        ledger.events.append(
            .init(
                id: event.id,
                publishedAt: event.at,
                phones: [alice.name, bob.name],
                isHeldBack: true
            )
        )
        _ = try await receipts(of: event.id, "two rows in the outbox") { $0.count == 2 }
        story.say("Delivery is killed with -9 and started again; then the Relay comes back.")
        await stack.services.supervisor.kill("delivery")
        try await restart("delivery")
        let waiting = try await receipts(of: event.id, "the rows after the crash") { $0.count == 2 }
        story.more("after the crash: \(waiting.map(\.state.rawValue).joined(separator: ", "))")
        let back = time.wall
        try await restart("relay")
        for phone in [alice, bob] {
            let line = try await banner(event.id, on: phone)
            let delay = line.at.milliseconds - back.milliseconds
            story.more("\(phone.name): shown \(max(0, delay)) ms after the Relay was started")
        }
        _ = try await receipts(of: event.id, "both rows accepted") {
            $0.count == 2 && $0.allSatisfy { $0.state == .accepted }
        }
    }

    private func signOut(_ ledger: inout DemoLedger) async throws {
        story.say("Bob signs out, but his phone keeps listening. An alert then is alice's only.")
        let plan = DemoPhone.signOutPlan(bob, stack: stack)
        try phones.add([plan])
        try phones.start(plan.name)
        guard await phones.waitForExit(plan.name) == .exited(0) else {
            throw CommandFailure("bob could not sign out; see \(plan.name).log")
        }
        let memory = cycle("Memory low", "web-2")
        let id = try await publish(.alertTriggered, memory, for: [alice], &ledger)
        // The event is over when it is fanned out and every row of it has ended: what has not been
        // pushed to bob's phone by then never is.
        try await poll("the end of the fan-out") {
            let answer = try await bus.ask(EventQuery(eventID: id), of: .eventIngest)
            return answer.events.first?.state == .fannedOut
        }
        let rows = try await receipts(of: id, "an ended row") { rows in
            !rows.isEmpty && rows.allSatisfy { $0.state.isTerminal }
        }
        guard rows.map(\.installationID) == [alice.installation] else {
            throw CommandFailure("rows for \(rows.map(\.installationID.text)), not for alice only")
        }
    }

    // MARK: Steps

    private func cycle(_ rule: String, _ server: String) -> AlertEventData {
        AlertEventData(
            ruleID: rule.lowercased().replacing(" ", with: "-"),
            ruleName: rule,
            serverID: server,
            serverName: server,
            startedAt: time.wall.rfc3339
        )
    }

    /// Publishes and waits for the banner on each phone.
    @discardableResult
    private func publish(
        _ type: EventType,
        _ alert: AlertEventData,
        for phones: [DemoPhone],
        _ ledger: inout DemoLedger
    ) async throws -> EventID {
        let event = try await send(type, alert)
        ledger.events.append(
            .init(
                id: event.id,
                publishedAt: event.at,
                phones: Set(phones.map(\.name)),
                isHeldBack: false
            )
        )
        for phone in phones { _ = try await banner(event.id, on: phone) }
        return event.id
    }

    private func send(
        _ type: EventType,
        _ alert: AlertEventData
    ) async throws -> (id: EventID, at: UnixMilliseconds) {
        let id = EventID(hash: RandomSource.system.bytes(16))?.description ?? ""
        let request = try PublishCommand.request(
            CloudEvent(id: id, source: "pushbus/demo", type: type.rawValue, data: alert)
        )
        let at = time.wall
        let answer = try await PublishCommand.publish(request, in: bus)
        guard let result = answer.results.first, result.status == .accepted,
            let eventID = result.eventID
        else { throw CommandFailure("not accepted: \(PublishCommand.text(of: answer))") }
        return (eventID, at)
    }

    private func banner(_ id: EventID, on phone: DemoPhone) async throws -> PhoneWatch.Line {
        try await phone.watch.first("the banner of \(id)", within: Self.patience) {
            $0.event == "banner" && $0.eventID == id
        }
    }

    private func restart(_ name: String) async throws {
        try stack.services.supervisor.start(name)
        guard await stack.services.supervisor.waitUntilReady(name) else {
            throw CommandFailure("\(name) did not start again; see \(name).log")
        }
    }

    private func receipts(
        of id: EventID,
        _ what: String,
        until isEnough: ([ReceiptQueryAnswer.Receipt]) -> Bool
    ) async throws -> [ReceiptQueryAnswer.Receipt] {
        var found: [ReceiptQueryAnswer.Receipt] = []
        try await poll(what) {
            found = try await bus.ask(
                ReceiptQuery(eventID: id),
                of: .delivery,
                resendEvery: .seconds(1)
            ).receipts
            return isEnough(found)
        }
        return found
    }

    /// Asks again until it is so; nobody tells when an outbox changes.
    private func poll(_ what: String, _ isSo: () async throws -> Bool) async throws {
        let deadline = time.monotonic.advanced(by: Self.patience)
        while !(try await isSo()) {
            guard time.monotonic < deadline else {
                throw CommandFailure("\(what): did not come in time")
            }
            try await time.sleep(for: .milliseconds(20))
        }
    }
}
