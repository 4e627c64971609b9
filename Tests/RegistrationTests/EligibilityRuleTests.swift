import Contracts
import RegistrationCore
import Testing

@Suite
struct EligibilityRuleTests {
    private let alive = Eligibility.Standing(role: .member, sessionIsAlive: true)

    private var installation: Installation {
        var installation = Installation(id: InstallationID("phone"))
        installation.userID = UserID("user")
        installation.registration = InstallationRuleTests.registration()
        installation.binding = 5
        installation.preferences = Preferences(enabled: true, alerts: true, security: true)
        installation.since = [.alert: 4]
        return installation
    }

    @Test func permitsWhatNothingStandsAgainst() {
        #expect(obstacle(installation, alive) == nil)
        #expect(obstacle(installation, alive, category: .test) == nil)
        #expect(obstacle(installation, alive, binding: nil) == nil)
    }

    @Test func namesWhatStandsAgainstIt() {
        var changed = installation
        changed.registration = nil
        #expect(obstacle(changed, alive) == .notRegistered)
        #expect(obstacle(changed, alive, binding: nil) == .notRegistered)
        #expect(obstacle(changed, alive, binding: 4) == .replaced)
        #expect(obstacle(installation, alive, binding: 4) == .replaced)
        #expect(obstacle(installation, alive, watermark: 4, binding: nil) == .subscribedLater)
        changed = installation
        changed.since[.alert] = 7
        #expect(obstacle(changed, alive, watermark: 6) == .subscribedLater)
        #expect(obstacle(changed, alive, watermark: 7) == nil)
        changed.preferences.alerts = false
        #expect(obstacle(changed, alive) == .unsubscribed)
        changed = installation
        changed.registration?.doubt = .topic
        #expect(obstacle(changed, alive) == .suspect)
        #expect(obstacle(installation, alive, category: .security) == .role)
        let ended = Eligibility.Standing(role: .member, sessionIsAlive: false)
        #expect(obstacle(installation, ended) == .sessionEnded)
        let gone = Eligibility.Standing(role: nil, sessionIsAlive: true)
        #expect(obstacle(installation, gone) == .sessionEnded)
    }

    @Test func tellsAYoungBinding() {
        let check = EligibilityCheck.Check(
            installationID: InstallationID("phone"),
            binding: 5,
            watermark: 9,
            category: .alert
        )
        for (age, young) in [(Int64(0), true), (86_399_999, true), (86_400_000, false)] {
            let verdict = Eligibility.verdict(
                check,
                installation,
                alive,
                now: UnixMilliseconds(age)
            )
            guard case .eligible(let target) = verdict else {
                Issue.record("not eligible")
                continue
            }
            #expect(target.isYoung == young)
        }
        #expect(
            Eligibility.verdict(check, nil, alive, now: UnixMilliseconds(0))
                == .ineligible(.notRegistered)
        )
    }

    // MARK: Clean-up

    @Test func appliesOnlyWhatIsStillTrue() {
        let confirmed = UnixMilliseconds(1_000_000)
        let later = UnixMilliseconds(1_000_001)
        #expect(decide(.dead, timestamp: later) == .forget)
        #expect(decide(.dead, timestamp: confirmed) == .stale)
        #expect(decide(.dead, timestamp: nil) == .doubt(.suspect))
        #expect(decide(.dead, timestamp: nil, confirmedAt: later) == .stale)
        #expect(decide(.suspect) == .doubt(.suspect))
        #expect(decide(.topic) == .doubt(.topic))
        #expect(decide(.suspect, confirmedAt: later) == .stale)
        #expect(decide(.suspect, binding: 4) == .stale)
        #expect(decide(.dead, timestamp: later, hash: Blob([2])) == .stale)
    }

    @Test func holdsMassFailures() {
        #expect(!MassFailureGuard.stands(.init(verdicts: 49, failures: 49)))
        #expect(!MassFailureGuard.stands(.init(verdicts: 50, failures: 10)))
        #expect(MassFailureGuard.stands(.init(verdicts: 50, failures: 11)))
        let difference = MassFailureGuard.difference(
            from: .init(verdicts: 10, dead: 1),
            to: .init(verdicts: 30, dead: 2, suspect: 3, topic: 4)
        )
        #expect(difference == .init(verdicts: 20, failures: 8))
        #expect(
            MassFailureGuard.difference(from: .init(verdicts: 10), to: .init(verdicts: 5))
                == .init()
        )
        let hostile = RegistrationCleanup.Totals(
            verdicts: .max,
            dead: .max,
            suspect: .max,
            topic: .max
        )
        _ = MassFailureGuard.difference(from: .init(verdicts: -5), to: hostile)
    }

    private func obstacle(
        _ installation: Installation,
        _ standing: Eligibility.Standing,
        category: Contracts.Category = .alert,
        watermark: Int64 = 9,
        binding: Int64? = 5
    ) -> IneligibleReason? {
        Eligibility.obstacle(
            installation,
            standing,
            category: category,
            watermark: watermark,
            binding: binding
        )
    }

    private func decide(
        _ kind: CleanupKind,
        timestamp: UnixMilliseconds? = nil,
        confirmedAt: UnixMilliseconds = UnixMilliseconds(1_000_000),
        binding: Int64 = 5,
        hash: Blob = Blob([1])
    ) -> Cleanup {
        Cleanup.decide(
            RegistrationCleanup.Item(
                installationID: InstallationID("phone"),
                binding: binding,
                tokenHash: hash,
                kind: kind,
                apnsTimestamp: timestamp,
                confirmedAt: confirmedAt
            ),
            installation,
            tokenHash: Blob([1])
        )
    }
}
