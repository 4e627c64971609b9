import Contracts
import EventIngestCore
import EventIngestService
import TestKit
import Testing

/// What every event store does with alerts under a policy.
@Suite struct EventStorePolicyTests {
    /// An hour around the beginning of the store's world.
    static let window = MaintenanceWindow(
        id: "move",
        name: "New rack",
        coverage: Coverage(.include, ["s1"]),
        once: .init(
            from: StoreWorld.start.second.adding(seconds: -1800),
            until: StoreWorld.start.second.adding(seconds: 1800)
        )
    )

    private func trigger(_ id: String, at: String? = nil, server: String = "s1") -> JSONValue {
        EventSamples.alert(
            id: id,
            server: server,
            changes: ["time": at.map(JSONValue.string)]
        )
    }

    private func recovery(_ id: String, server: String = "s1") -> JSONValue {
        EventSamples.alert(.alertResolved, id: id, server: server)
    }

    private func reason(_ world: StoreWorld, _ event: JSONValue) async throws -> String? {
        let stored = try await world.event(try world.id(event))
        return stored?.state == .suppressed ? stored?.reason : stored?.state.rawValue
    }

    @Test(arguments: StoreFactory.all)
    func suppressesTriggersInsideAWindowAndTheirRecoveries(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            try await world.put(PolicyItem(Self.window))
            let (covered, other) = (trigger("1"), trigger("2", server: "s2"))
            let results = try await world.publish(covered, other)
            #expect(results.map(\.status) == [.accepted, .accepted])
            #expect(results.map { $0.reason != nil } == [true, false])
            #expect(try await reason(world, covered) == "maintenance:move")
            #expect(try await reason(world, other) == "admitted")
            try await world.publish(recovery("3"), recovery("4", server: "s2"))
            #expect(try await reason(world, recovery("3")) == "no_trigger")
            #expect(try await reason(world, recovery("4", server: "s2")) == "admitted")
            // A resend, and the same happening from elsewhere, change nothing.
            let again = try await world.publish(covered, trigger("5"))
            #expect(again.map(\.status) == [.duplicate, .duplicate])
        }
    }

    @Test(arguments: StoreFactory.all)
    func admitsTheRecoveryOfAnAdmittedCycleInsideAWindow(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            try await world.publish(trigger("1"))
            try await world.put(PolicyItem(Self.window))
            try await world.publish(recovery("2"))
            #expect(try await reason(world, recovery("2")) == "admitted")
        }
    }

    @Test(arguments: StoreFactory.all)
    func decidesByTheTimeOfTheEvent(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            try await world.put(PolicyItem(Self.window))
            world.time.advance(by: .seconds(1900))
            let before = trigger("1", at: "2027-01-15T08:29:59Z")
            try await world.publish(before)
            #expect(try await reason(world, before) == "maintenance:move")
            let after = EventSamples.alert(
                id: "2",
                rule: "disk",
                changes: ["time": .string("2027-01-15T08:30:00Z")]
            )
            try await world.publish(after)
            #expect(try await reason(world, after) == "admitted")
        }
    }

    @Test(arguments: StoreFactory.all)
    func obeysTheRule(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            try await world.put(PolicyItem(Self.window))
            let rules: [(AlertRule, String)] = [
                (AlertRule(id: "off", name: "n", isEnabled: false), "rule_disabled"),
                (
                    AlertRule(id: "away", name: "n", coverage: Coverage(.exclude, ["s1"])),
                    "not_covered"
                ),
                (
                    AlertRule(id: "else", name: "n", coverage: Coverage(.include, ["s2"])),
                    "not_covered"
                ),
                (AlertRule(id: "mute", name: "n", suppression: .always), "rule_muted"),
                (AlertRule(id: "loud", name: "n", suppression: .never), "admitted"),
                (AlertRule(id: "plain", name: "n"), "maintenance:move"),
            ]
            for (rule, expected) in rules {
                try await world.put(PolicyItem(rule))
                let event = EventSamples.alert(id: rule.id, rule: rule.id)
                try await world.publish(event)
                #expect(try await reason(world, event) == expected)
            }
        }
    }

    @Test(arguments: StoreFactory.all)
    func readsTheRulesName(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            try await world.put(PolicyItem(AlertRule(id: "cpu", name: "Processor")))
            try await world.publish(trigger("1"))
            try await world.settle()
            guard case .alert(let content)? = try await world.claim().first?.content else {
                Issue.record("no alert")
                return
            }
            #expect(content.ruleName == "Processor")
        }
    }

    @Test(arguments: StoreFactory.all)
    func notifiesAgainFiveMinutesLaterWhereTheRuleSaysSo(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            try await world.put(PolicyItem(AlertRule(id: "cpu", name: "n", repeatSeconds: 300)))
            let first = try await world.publish(trigger("1"))
            world.time.advance(by: .milliseconds(299_999))
            #expect(try await world.publish(trigger("2")).map(\.status) == [.duplicate])
            world.time.advance(by: .milliseconds(1))
            let second = try await world.publish(trigger("3"))
            #expect(second.map(\.status) == [.accepted])
            #expect(second.first?.eventID != first.first?.eventID)
            #expect(
                try await world.publish(trigger("3")) == [
                    .init(.duplicate, eventID: second[0].eventID)
                ]
            )
            world.time.advance(by: .seconds(1))
            #expect(try await world.publish(trigger("4")).map(\.status) == [.duplicate])
            // The recovery waits for the first trigger and for its repeat.
            try await world.publish(recovery("5"))
            try await world.settle()
            let handed = try await world.claim().map(\.eventID)
            #expect(handed == [first[0].eventID, second[0].eventID])
            try await world.report(try #require(first[0].eventID), .done)
            #expect(try await world.claim().isEmpty)
            try await world.report(try #require(second[0].eventID), .done)
            #expect(try await world.claim().map(\.eventID) == [try world.id(recovery("5"))])
            world.time.advance(by: .seconds(600))
            #expect(try await world.publish(trigger("6")).map(\.status) == [.duplicate])
        }
    }

    @Test(arguments: StoreFactory.all)
    func notifiesAtARepeatOnceAWindowIsOver(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            let rule = AlertRule(id: "cpu", name: "n", repeatSeconds: 86_400)
            try await world.put(PolicyItem(rule), PolicyItem(Self.window))
            try await world.publish(trigger("1"))
            #expect(try await reason(world, trigger("1")) == "maintenance:move")
            world.time.advance(by: .seconds(1800))
            let later = try await world.publish(trigger("2"))
            #expect(later.map(\.status) == [.accepted])
            #expect(later.first?.reason == nil)
            try await world.publish(recovery("3"))
            #expect(try await reason(world, recovery("3")) == "admitted")
        }
    }

    @Test(arguments: StoreFactory.all)
    func recordsRepeatsThatNotifyNobody(_ factory: StoreFactory) async throws {
        let cases: [(String, String, (inout AlertRule) -> Void)] = [
            ("maintenance:move", "s1", { _ in }),
            ("rule_disabled", "s2", { $0.isEnabled = false }),
            ("not_covered", "s2", { $0.coverage = Coverage(.exclude, ["s2"]) }),
            ("rule_muted", "s2", { $0.suppression = .always }),
        ]
        for (expected, server, change) in cases {
            try await StoreWorld.with(factory) { world in
                var rule = AlertRule(id: "cpu", name: "n", repeatSeconds: 300)
                try await world.put(PolicyItem(rule))
                let first = try await world.publish(trigger("1", server: server))
                change(&rule)
                try await world.put(PolicyItem(rule), PolicyItem(Self.window))
                world.time.advance(by: .seconds(300))
                // What comes with it in one batch is not held up.
                let other = trigger("other", server: "s3")
                let results = try await world.publish(trigger("2", server: server), other)
                #expect(results.map(\.status) == [.accepted, .accepted], "\(expected)")
                let id = try #require(results.first?.eventID)
                #expect(id != first.first?.eventID)
                let stored = try await world.event(id)
                #expect(stored?.state == .suppressed)
                #expect(stored?.reason == expected)
                let again = try await world.publish(trigger("3", server: server))
                #expect(again.map(\.status) == [.duplicate])
                // The trigger that notified still has its recovery, however late it comes.
                world.time.advance(by: .seconds(8 * 86_400))
                _ = try await world.store.expireDue(limit: 10)
                _ = try await world.store.purge(limit: 10)
                #expect(try await world.event(id) == nil)
                try await world.publish(recovery("4", server: server))
                #expect(try await reason(world, recovery("4", server: server)) == "admitted")
            }
        }
    }

    @Test(arguments: StoreFactory.all)
    func leavesNothingToAKeyWhoseIntegratorWasRemoved(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            func publish(_ id: String) async throws -> PublishStatus? {
                var candidate = try EventSamples.candidate(trigger(id, server: id))
                candidate.publisher = .principal("m")
                return try await world.store.admit([candidate]).first?.result.status
            }
            #expect(try await publish("before") == .accepted)
            var integrator = Integrator(id: "m", name: "m", sources: ["*"], types: ["*"])
            try await world.put(PolicyItem(integrator))
            #expect(try await publish("added") == .accepted)
            integrator.sources = ["/elsewhere"]
            try await world.put(PolicyItem(integrator))
            #expect(try await publish("narrowed") == .invalid)
            try await world.remove(PolicyKey(.integrator, "m"))
            #expect(try await publish("removed") == .invalid)
            try await world.reopen()
            #expect(try await publish("restarted") == .invalid)
            integrator.sources = ["*"]
            try await world.put(PolicyItem(integrator))
            #expect(try await publish("again") == .accepted)
        }
    }

    @Test(arguments: StoreFactory.all)
    func staysSilentAboutATriggerThatComesAfterItsRecovery(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            try await world.publish(recovery("1"))
            #expect(try await reason(world, recovery("1")) == "no_trigger")
            try await world.publish(trigger("2"))
            #expect(try await reason(world, trigger("2")) == "already_resolved")
        }
    }

    @Test(arguments: StoreFactory.all)
    func refusesUnknownRulesWhereItIsToldTo(_ factory: StoreFactory) async throws {
        let rulings = PolicyRulings(unknownRules: .refuse)
        try await StoreWorld.with(factory, rulings: rulings) { world in
            let refused = try await world.publish(trigger("1"), recovery("2"))
            #expect(refused.map(\.status) == [.invalid, .invalid])
            #expect(refused.map(\.pointer) == ["/data/rule_id", "/data/rule_id"])
            try await world.put(PolicyItem(AlertRule(id: "cpu", name: "n")))
            #expect(try await world.publish(trigger("1")).map(\.status) == [.accepted])
            try await world.remove(PolicyKey(.alertRule, "cpu"))
            // The cycle that notified still ends.
            #expect(try await world.publish(recovery("2")).map(\.status) == [.accepted])
            #expect(try await reason(world, recovery("2")) == "admitted")
        }
    }

    @Test(arguments: StoreFactory.all)
    func recordsWhoChangedWhatAndWhen(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            let rule = AlertRule(id: "cpu", name: "n")
            #expect(try await world.put(PolicyItem(rule)).changed == 1)
            #expect(try await world.put(PolicyItem(rule)).changed == 0)
            world.time.advance(by: .seconds(5))
            try await world.remove(PolicyKey(.alertRule, "cpu"))
            #expect(try await world.put(PolicyItem(Self.window)).changed == 1)
            try await world.reopen()
            let audit = try await world.store.audit(AuditQuery()).entries
            #expect(audit.map(\.key.id) == ["move", "cpu", "cpu"])
            #expect(audit.map { $0.item != nil } == [true, false, true])
            #expect(audit.map(\.by) == ["tester", "tester", "tester"])
            #expect(audit.last?.at == StoreWorld.start.second)
            #expect(audit.first?.at == StoreWorld.start.second.adding(seconds: 5))
            let older = try await world.store.audit(AuditQuery(before: audit[0].number, limit: 1))
            #expect(older.entries == [audit[1]])
            let windows = try await world.store.policy(PolicyQuery(kind: .maintenance))
            #expect(windows.entries.map(\.item) == [PolicyItem(Self.window)])
            #expect(windows.more == false)
            #expect(try await world.store.policy(PolicyQuery(kind: .alertRule)).entries.isEmpty)
        }
    }

    @Test(arguments: StoreFactory.all)
    func pagesThroughItems(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            for id in ["b", "a", "c"] {
                try await world.put(PolicyItem(AlertRule(id: id, name: "n")))
            }
            let first = try await world.store.policy(PolicyQuery(kind: .alertRule, limit: 2))
            #expect(first.entries.compactMap(\.item.key?.id) == ["a", "b"])
            #expect(first.more)
            let rest = try await world.store.policy(
                PolicyQuery(kind: .alertRule, after: "b", limit: 2)
            )
            #expect(rest.entries.compactMap(\.item.key?.id) == ["c"])
            #expect(!rest.more)
        }
    }
}
