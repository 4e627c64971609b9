import Contracts
import EventIngestCore
import EventIngestService
import Loop
import TestKit
import Testing

/// What every event store does with detections.
@Suite struct EventStoreDetectionTests {
    static let rule = SecurityRule(
        id: "guess",
        name: "Guessed passwords",
        type: .bruteForce,
        dedupeWindowSeconds: 600,
        threshold: 5,
        excludeNetworks: ["10.0.0.0/8"]
    )

    private func detection(
        _ id: String,
        _ type: String = "ssh_brute_force",
        address: String = "203.0.113.9",
        count: Int64 = 9,
        at: String? = nil,
        data: [String: JSONValue] = [:]
    ) -> JSONValue {
        var members: [String: JSONValue] = [
            "security_event_type": .string(type), "security_event_id": .string(id),
            "server_id": .string("s1"), "source_address": .string(address),
            "failed_count": .integer(count), "distinct_ports": .integer(count),
        ]
        members.merge(data) { $1 }
        return EventSamples.alert(
            .securityDetected,
            id: id,
            changes: ["data": .object(members), "time": at.map(JSONValue.string)]
        )
    }

    private func state(_ world: StoreWorld, _ event: JSONValue) async throws -> String? {
        let stored = try await world.event(try world.id(event))
        return stored?.state == .suppressed ? stored?.reason : stored?.state.rawValue
    }

    @Test(arguments: StoreFactory.all)
    func notifiesThroughAnEnabledRuleOnly(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            try await world.publish(detection("1"))
            #expect(try await state(world, detection("1")) == "no_rule")
            try await world.put(PolicyItem(Self.rule))
            let cases: [(JSONValue, String)] = [
                (detection("2"), "admitted"),
                (
                    detection("3", count: 4, data: ["server_id": .string("s2")]),
                    "below_threshold:guess:4 of 5"
                ),
                (detection("4", address: "10.1.2.3"), "excluded_cidr:guess"),
                (detection("5", address: "::ffff:10.1.2.3"), "excluded_cidr:guess"),
                (detection("6", "port_scan"), "no_rule"),
                (detection("7", "ssh_new_ip_login"), "no_rule"),
            ]
            for (event, expected) in cases {
                #expect(try await world.publish(event).map(\.status) == [.accepted])
                #expect(try await world.event(try world.id(event))?.category == .security)
                let id = try world.id(event)
                let stored = try await world.event(id)
                #expect((stored?.reason ?? "") == expected || stored?.state.rawValue == expected)
            }
            #expect(try await world.publish(detection("2")).map(\.status) == [.duplicate])
        }
    }

    @Test(arguments: StoreFactory.all)
    func leavesNetworksOfBothFamiliesOut(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            let rule = SecurityRule(
                id: "six",
                name: "Guessed passwords",
                type: .bruteForce,
                dedupeWindowSeconds: 600,
                threshold: 5,
                excludeNetworks: ["2001:db8:1::/48"]
            )
            try await world.put(PolicyItem(rule))
            let inside = detection("1", address: "2001:DB8:1:ffff::7")
            let outside = detection("2", address: "2001:db8:2::7")
            try await world.publish(inside, outside)
            #expect(try await state(world, inside) == "excluded_cidr:six")
            #expect(try await state(world, outside) == "admitted")
        }
    }

    @Test(arguments: StoreFactory.all)
    func obeysTheWindowOfItsOriginalTime(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            try await world.put(PolicyItem(Self.rule), PolicyItem(EventStorePolicyTests.window))
            world.time.advance(by: .seconds(1_900))
            let before = detection("1", at: "2027-01-15T08:29:59Z")
            let after = detection("2", at: "2027-01-15T08:30:00Z")
            try await world.publish(before, after)
            #expect(try await state(world, before) == "maintenance:move")
            #expect(try await state(world, after) == "admitted")
        }
    }

    @Test(arguments: StoreFactory.all)
    func aRetriedDecisionIsThatOfTheOriginalTime(_ factory: StoreFactory) async throws {
        // Seven hours behind: one minute to one o'clock at the original time, past it at the retry.
        let isKnown = Locked(false)
        let rulings = PolicyRulings { _, _ in isKnown.withLock { $0 } ? -25_200 : nil }
        try await StoreWorld.with(factory, rulings: rulings) { world in
            try await world.put(PolicyItem(Self.rule), PolicyItem(Self.window))
            let event = detection("1", at: "2027-01-15T07:59:00Z")
            try await world.publish(event)
            #expect(try await state(world, event) == "unresolved")
            isKnown.withLock { $0 = true }
            world.time.advance(by: .seconds(600))
            let resolved = try await world.store.resolve(limit: 10)
            #expect((resolved.admitted, resolved.suppressed) == (0, 1))
            #expect(try await state(world, event) == "maintenance:night")
        }
    }

    @Test(arguments: StoreFactory.all)
    func leavesAccountsAndServersOut(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            let rule = SecurityRule(
                id: "login",
                name: "n",
                type: .newAddressLogin,
                coverage: Coverage(.exclude, ["s9"]),
                excludeUsers: ["Deploy"]
            )
            try await world.put(PolicyItem(rule))
            let deploy = detection("1", "ssh_new_ip_login", data: ["user": .string("dePLOY")])
            let away = detection("2", "ssh_new_ip_login", data: ["server_id": .string("s9")])
            let root = detection("3", "ssh_new_ip_login", data: ["user": .string("root")])
            try await world.publish(deploy, away, root)
            #expect(try await state(world, deploy) == "excluded_user:login")
            #expect(try await state(world, away) == "not_covered:login")
            #expect(try await state(world, root) == "admitted")
        }
    }

    @Test(arguments: StoreFactory.all)
    func staysSilentInASlidingWindow(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            // The shortest window of the matching rules counts, and there is one notification.
            var other = Self.rule
            (other.id, other.dedupeWindowSeconds) = ("second", 86_400)
            try await world.put(PolicyItem(Self.rule), PolicyItem(other))
            try await world.publish(detection("1"))
            world.time.advance(by: .seconds(599))
            try await world.publish(detection("2"), detection("other", address: "203.0.113.10"))
            world.time.advance(by: .seconds(599))
            try await world.publish(detection("3"))
            // One that happened before all of them comes late, and moves nothing back.
            try await world.publish(detection("late", at: "2027-01-15T07:59:59Z"))
            world.time.advance(by: .seconds(599))
            try await world.publish(detection("4"))
            try await world.reopen()
            world.time.advance(by: .seconds(600))
            try await world.publish(detection("5"))
            let expected = [
                ("1", "admitted"), ("2", "dedupe_window"), ("3", "dedupe_window"),
                ("late", "dedupe_window"), ("4", "dedupe_window"), ("5", "admitted"),
            ]
            for (id, state) in expected {
                #expect(try await self.state(world, detection(id)) == state, "\(id)")
            }
            let elsewhere = detection("other", address: "203.0.113.10")
            #expect(try await state(world, elsewhere) == "admitted")
        }
    }

    /// A window in a zone whose data cannot be had until the test lets it.
    private static let window = MaintenanceWindow(
        id: "night",
        name: "n",
        coverage: Coverage(.include, ["s1"]),
        weekly: .init(
            zone: "Test/Zone",
            days: Weekday.allCases,
            from: MaintenanceTests.midnight,
            until: MaintenanceTests.one
        )
    )

    @Test(arguments: StoreFactory.all)
    func isNeverAdmittedByAFailedLookup(_ factory: StoreFactory) async throws {
        let isKnown = Locked(false)
        let rulings = PolicyRulings { _, _ in isKnown.withLock { $0 } ? 0 : nil }
        try await StoreWorld.with(factory, rulings: rulings) { world in
            try await world.put(PolicyItem(Self.rule), PolicyItem(Self.window))
            // The younger one of the same key comes first, and waits for nothing but the lookup.
            let younger = detection("b", at: "2027-01-15T07:59:30Z")
            let older = detection("a", at: "2027-01-15T07:59:00Z")
            let free = detection("c", data: ["server_id": .string("s2")])
            try await world.publish(younger, older, free)
            #expect(try await state(world, younger) == "unresolved")
            #expect(try await state(world, older) == "unresolved")
            #expect(try await state(world, free) == "admitted")
            try await world.settle(7)
            #expect(try await world.claim().map(\.eventID) == [try world.id(free)])
            #expect(try await world.store.resolve(limit: 10) == ResolvedEvents())
            isKnown.withLock { $0 = true }
            // Decided, but held: another of the key is older and unresolved no more.
            let resolved = try await world.store.resolve(limit: 10)
            #expect((resolved.admitted, resolved.suppressed) == (1, 1))
            #expect(try await state(world, older) == "admitted")
            #expect(try await state(world, younger) == "dedupe_window")
            let order = try await world.claim()
            #expect(order.map(\.eventID) == [try world.id(older)])
            #expect(order.map(\.watermark) == [7])
        }
    }

    @Test(arguments: StoreFactory.all)
    func holdsOnlyItsOwnKeyAndExpires(_ factory: StoreFactory) async throws {
        let rulings = PolicyRulings { _, _ in nil }
        try await StoreWorld.with(factory, rulings: rulings) { world in
            try await world.put(PolicyItem(Self.rule), PolicyItem(Self.window))
            try await world.publish(detection("a"))
            try await world.remove(PolicyKey(.maintenance, "night"))
            // Unresolved until it is asked again; the younger of its key waits behind it.
            let other = detection("c", address: "203.0.113.10")
            try await world.publish(detection("b"), other)
            #expect(try await state(world, detection("b")) == "unresolved")
            #expect(try await state(world, other) == "admitted")
            world.time.advance(by: .seconds(1800))
            #expect(try await world.store.expireDue(limit: 10) == 3)
            #expect(try await world.store.resolve(limit: 10) == ResolvedEvents())
            #expect(try await state(world, detection("a")) == "expired")
        }
    }

    @Test(arguments: StoreFactory.all)
    func walksPastWhatCannotBeDecided(_ factory: StoreFactory) async throws {
        let knows = Locked(true)
        let rulings = PolicyRulings { zone, _ in
            zone == "Other/Zone" && knows.withLock { $0 } ? 0 : nil
        }
        try await StoreWorld.with(factory, rulings: rulings) { world in
            var other = Self.window
            other.id = "other"
            other.coverage = Coverage(.include, ["s2"])
            other.weekly?.zone = "Other/Zone"
            knows.withLock { $0 = false }
            try await world.put(
                PolicyItem(Self.rule),
                PolicyItem(Self.window),
                PolicyItem(other)
            )
            // Two keys that stay undecided, one of them twice, are older than one that does not.
            let held = [
                detection("a", at: "2027-01-15T07:59:00Z"),
                detection("b", at: "2027-01-15T07:59:01Z"),
                detection("c", address: "203.0.113.10", at: "2027-01-15T07:59:02Z"),
            ]
            for event in held { try await world.publish(event) }
            let free = detection("d", data: ["server_id": .string("s2")])
            try await world.publish(free)
            #expect(try await state(world, free) == "unresolved")
            knows.withLock { $0 = true }
            let resolved = try await world.store.resolve(limit: 1)
            #expect((resolved.admitted, resolved.suppressed) == (1, 0))
            #expect(try await state(world, free) == "admitted")
            for event in held { #expect(try await state(world, event) == "unresolved") }
        }
    }

    @Test(arguments: StoreFactory.all)
    func takesAnAddressHoweverItIsSpelled(_ factory: StoreFactory) async throws {
        try await StoreWorld.with(factory) { world in
            try await world.put(PolicyItem(Self.rule))
            let spellings = [
                ("198.51.100.7", "::ffff:198.51.100.7"), ("::FFFF:c633:6408", "198.51.100.8"),
                ("2001:DB8::1", "2001:db8:0::1"),
            ]
            for (first, second) in spellings {
                let (one, other) = (
                    detection("1 " + first, address: first),
                    detection("2 " + second, address: second)
                )
                try await world.publish(one, other)
                #expect(try await state(world, one) == "admitted", "\(first)")
                #expect(try await state(world, other) == "dedupe_window", "\(second)")
            }
            let near = detection("3", address: "2001:db8::2")
            try await world.publish(near)
            #expect(try await state(world, near) == "admitted")
        }
    }

    @Test(arguments: StoreFactory.all)
    func cancelsWhatARevokedIntegratorHasWaiting(_ factory: StoreFactory) async throws {
        let rulings = PolicyRulings { _, _ in nil }
        try await StoreWorld.with(factory, rulings: rulings) { world in
            let integrator = Integrator(id: "m", name: "m", sources: ["*"], types: ["*"])
            try await world.put(
                PolicyItem(integrator),
                PolicyItem(Self.rule),
                PolicyItem(Self.window)
            )
            let (waiting, admitted) = (
                detection("a"), detection("c", data: ["server_id": .string("s2")])
            )
            for event in [waiting, admitted] {
                var candidate = try EventSamples.candidate(event)
                candidate.publisher = .integrator("m")
                _ = try await world.store.admit([candidate])
            }
            var narrowed = integrator
            narrowed.types = ["org.pushbus.alert.*"]
            #expect(try await world.put(PolicyItem(narrowed)).cancelled == 1)
            #expect(try await state(world, waiting) == "principal_revoked")
            #expect(try await state(world, admitted) == "admitted")
        }
    }
}
