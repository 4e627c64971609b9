import Bus
import Contracts
import PushBusCrypto
import TestKit
import Testing

/// What the other services ask, over a real bus.
@Suite(.timeLimit(.minutes(2)))
struct AudienceTests {
    @Test func pagesInInstallationOrderAndCountsTheRest() async throws {
        try await RegistrationWorld.run { world in
            var names: [String] = []
            for index in 0..<5 {
                let phone = try await world.registeredPhone("user\(index)", token: "aa1\(index)")
                names.append(phone.installation)
            }
            try await world.addUser("silent")
            let silent = try await world.login("silent", "phone-of-user3x")
            _ = try await silent.save(revision: 0, "enabled")
            var found: [String] = []
            var skipped: [String: Int64] = [:]
            var after: InstallationID?
            while true {
                let page = try await world.audience(limit: 2, after: after)
                found += page.recipients.map(\.installationID.text)
                skipped.merge(page.skipped, uniquingKeysWith: +)
                after = page.last
                if !page.more { break }
            }
            #expect(found == names)
            #expect(skipped == ["not_registered": 1])
            let targeted = try await world.bus.ask(
                AudiencePage(
                    category: .test,
                    watermark: .max,
                    audience: Audience(installationID: InstallationID(names[2])),
                    after: nil,
                    limit: 512
                ),
                timeout: .seconds(10)
            )
            #expect(targeted.recipients.map(\.installationID.text) == [names[2]])
            #expect(targeted.recipients.first?.keyID.description == Phone.keyID)
        }
    }

    @Test func aLaterSubscriptionInheritsNothing() async throws {
        try await RegistrationWorld.run { world in
            let early = try await world.registeredPhone("early")
            let watermark = try await world.watermark()
            let late = try await world.registeredPhone("late", token: "bb22")
            let page = try await world.audience(watermark: watermark)
            #expect(page.recipients.map(\.installationID.text) == [early.installation])
            #expect(page.skipped == ["subscribed_later": 1])
            #expect(try await world.watermark() > watermark)
            let binding = try #require(try await late.recipient()).binding
            #expect(
                try await world.check(late.installation, binding: binding, watermark: watermark)
                    == .ineligible(.subscribedLater)
            )
            _ = try await early.save(revision: 2, "enabled")
            _ = try await early.save(revision: 3, "enabled", "alerts")
            let old = try #require(try await early.recipient()).binding
            #expect(
                try await world.check(early.installation, binding: old, watermark: watermark)
                    == .ineligible(.subscribedLater)
            )
            guard
                case .eligible = try await world.check(
                    early.installation,
                    binding: old,
                    watermark: watermark,
                    category: .test
                )
            else {
                Issue.record("a preference write stopped another category")
                return
            }
        }
    }

    @Test func answersABatchInOrder() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice", token: "aa11")
            let recipient = try #require(try await phone.recipient())
            let checks = (0..<512).map { index in
                EligibilityCheck.Check(
                    installationID: InstallationID(
                        index == 300 ? phone.installation : "no\(index)"
                    ),
                    binding: recipient.binding,
                    watermark: recipient.binding,
                    category: .alert
                )
            }
            let answer = try await world.bus.ask(
                EligibilityCheck(checks: checks),
                timeout: .seconds(10)
            )
            #expect(answer.verdicts.count == 512)
            let target = try #require(answer.verdicts.compactMap(\.target).first)
            #expect(answer.verdicts.firstIndex { $0.target != nil } == 300)
            #expect(target.deviceToken.hex == "aa11")
            #expect(target.environment == .sandbox)
            #expect(target.isYoung)
        }
    }

    @Test func marksASuspectUntilItRegistersAgain() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice", token: "aa11")
            let recipient = try #require(try await phone.recipient())
            let target = try #require(
                try await world.check(phone.installation, binding: recipient.binding).target
            )
            let item = Self.item(phone, recipient.binding, "aa11", .suspect, target.confirmedAt)
            #expect(try await Self.clean(world, [item]) == [.applied])
            #expect(
                try await world.check(phone.installation, binding: recipient.binding)
                    == .ineligible(.suspect)
            )
            let settings = try await phone.settings()
            #expect(settings.string("delivery_unavailable_reason") == "suspect")
            let revision = try #require(settings.revision)
            world.time.advance(by: .seconds(1))
            #expect(try await phone.register(revision: revision).status == 200)
            #expect(
                try await world.check(phone.installation, binding: recipient.binding).target != nil
            )
            #expect(try await Self.clean(world, [item]) == [.stale])
        }
    }

    @Test func forgetsADeadToken() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice", token: "aa11")
            let binding = try #require(try await phone.recipient()).binding
            let confirmed = world.time.wall
            let early = Self.item(phone, binding, "aa11", .dead, confirmed, at: confirmed)
            let other = Self.item(
                phone,
                binding,
                "bb22",
                .dead,
                confirmed,
                at: confirmed.adding(milliseconds: 1)
            )
            #expect(try await Self.clean(world, [early, other]) == [.stale, .stale])
            let late = Self.item(
                phone,
                binding,
                "aa11",
                .dead,
                confirmed,
                at: confirmed.adding(milliseconds: 1)
            )
            #expect(try await Self.clean(world, [late]) == [.applied])
            #expect(try await phone.recipient() == nil)
            #expect(try await Self.clean(world, [late]) == [.stale])
        }
    }

    @Test func holdsCleanUpWhileManyFail() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice", token: "aa11")
            let binding = try #require(try await phone.recipient()).binding
            let item = Self.item(phone, binding, "aa11", .topic, world.time.wall)
            let many = RegistrationCleanup.Totals(verdicts: 50, dead: 0, suspect: 0, topic: 11)
            #expect(try await Self.clean(world, [item], many) == [.held])
            await world.logs.wait(
                for: "clean-up held: too many devices fail; check topic, key and environment"
            )
            #expect(try await Self.clean(world, [item], many) == [.held])
            world.time.advance(by: .seconds(611))
            #expect(try await Self.clean(world, [item], many) == [.applied])
        }
    }

    private static func item(
        _ phone: Phone,
        _ binding: Int64,
        _ token: String,
        _ kind: CleanupKind,
        _ confirmedAt: UnixMilliseconds,
        at timestamp: UnixMilliseconds? = nil
    ) -> RegistrationCleanup.Item {
        RegistrationCleanup.Item(
            installationID: InstallationID(phone.installation),
            binding: binding,
            tokenHash: Blob(SHA256.hash(Array(token.utf8))),
            kind: kind,
            apnsTimestamp: timestamp,
            confirmedAt: confirmedAt
        )
    }

    private static func clean(
        _ world: RegistrationWorld,
        _ items: [RegistrationCleanup.Item],
        _ totals: RegistrationCleanup.Totals = .init(verdicts: 1, suspect: 1)
    ) async throws -> [CleanupResult] {
        try await world.bus.ask(
            RegistrationCleanup(
                processID: "delivery-1",
                totals: ["sandbox": totals],
                items: items
            ),
            timeout: .seconds(10)
        ).results
    }
}

extension EligibilityCheckAnswer.Verdict {
    fileprivate var target: EligibilityCheckAnswer.Target? {
        if case .eligible(let target) = self { target } else { nil }
    }
}
