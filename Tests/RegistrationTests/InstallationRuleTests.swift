import Contracts
import RegistrationCore
import Testing

/// Bindings, `since` numbers and revisions.
@Suite
struct InstallationRuleTests {
    private var counter = BindingCounter(10)
    private var installation = Installation(id: InstallationID("phone"))
    private let now = UnixMilliseconds(1_000_000)

    @Test mutating func aChangeOfIdentityTakesABinding() throws {
        try enable("alerts")
        try register(Self.registration())
        #expect(installation.binding == 12)
        #expect(installation.boundAt == now)
        for change: (inout DeviceRegistration) -> Void in [
            { $0.token = Self.token("bb22") },
            { $0.environment = .production },
            { $0.keyDigest = Blob([2]) },
            { $0.sessionID = SessionID("other") },
            { $0.deploymentID = DeploymentID("https://other.example.org") },
        ] {
            let before = installation.binding
            var registration = Self.registration()
            change(&registration)
            try register(registration)
            #expect(installation.binding > before)
            try register(Self.registration())
        }
    }

    @Test mutating func theSameAgainKeepsTheBinding() throws {
        try enable("alerts")
        try register(Self.registration())
        let binding = installation.binding
        installation.registration?.doubt = .suspect
        var again = Self.registration()
        again.confirmedAt = UnixMilliseconds(2_000_000)
        again.sealedKey = Blob([9])
        try register(again)
        #expect(installation.binding == binding)
        #expect(installation.registration?.confirmedAt == again.confirmedAt)
        #expect(installation.registration?.doubt == nil)
        #expect(installation.revision == 3)
    }

    @Test mutating func onlyASwitchedOnCategoryTakesANumber() throws {
        try enable("alerts")
        #expect(installation.since == [.alert: 11])
        try enable("alerts")
        #expect(counter.value == 11)
        try enable("alerts", "security", role: .admin)
        #expect(installation.since == [.alert: 11, .security: 12])
        try save(Preferences(enabled: false, alerts: true))
        try enable("alerts")
        #expect(installation.since[.alert] == 13)
    }

    @Test mutating func disablingForgetsTheRegistration() throws {
        try enable("alerts")
        try register(Self.registration())
        try save(Preferences(enabled: false, alerts: true))
        #expect(installation.registration == nil)
        #expect(installation.preferences.alerts)
    }

    @Test mutating func aStaleRevisionChangesNothing() throws {
        try enable("alerts")
        let before = installation
        expect(.staleRevision) {
            try save(Preferences(enabled: true), revision: 0)
        }
        expect(.staleRevision) { try register(Self.registration(), revision: 2) }
        #expect(installation == before)
    }

    @Test mutating func aMemberMayNotHaveWhatIsForAdministrators() throws {
        for preferences in [
            Preferences(enabled: true, security: true),
            Preferences(enabled: true, taskFailure: true),
            Preferences(enabled: false, taskSuccess: true),
        ] {
            expect(.forbiddenCategory) { try save(preferences) }
            try save(preferences, role: .admin)
        }
        // Switching off clears what a demotion has left, and nothing else is asked for by it.
        try save(Preferences(enabled: true, alerts: true, security: true), role: .admin)
        expect(.forbiddenCategory) {
            try save(Preferences(enabled: false, security: true, taskFailure: true))
        }
        try save(Preferences(enabled: false, alerts: true, security: true))
        #expect(installation.preferences == Preferences(enabled: false, alerts: true))
    }

    @Test mutating func anotherAccountTakesOverOnlyWhatIsFree() throws {
        try enable("alerts")
        try register(Self.registration())
        let other = Self.caller(user: "other")
        #expect(installation.access(of: other, ownerIsSignedIn: true) == .ownedElsewhere)
        #expect(installation.access(of: other, ownerIsSignedIn: false) == .free)
        expect(.ownedElsewhere) {
            try installation.save(
                SettingsUpdate(expectedRevision: 2, preferences: Preferences(enabled: true)),
                by: other,
                access: .ownedElsewhere,
                counter: &counter
            )
        }
        try installation.save(
            SettingsUpdate(expectedRevision: 2, preferences: Preferences(enabled: true)),
            by: other,
            access: .free,
            counter: &counter
        )
        #expect(installation.userID == UserID("other"))
        #expect(installation.registration == nil)
        #expect(!installation.preferences.alerts)
        #expect(installation.since.isEmpty)
    }

    @Test mutating func aGainedRoleTakesANumber() throws {
        try enable("alerts", "security", role: .admin)
        installation.roleChanged(from: .admin, to: .member, counter: &counter)
        #expect(installation.since[.security] == 11)
        installation.roleChanged(from: .member, to: .admin, counter: &counter)
        #expect(installation.since[.security] == 12)
        #expect(installation.since[.alert] == 11)
    }

    @Test mutating func needsToBeEnabledFirst() {
        expect(.notEnabled) { try register(Self.registration(), revision: 0) }
    }

    // MARK: Help

    private mutating func enable(_ categories: String..., role: Role = .member) throws {
        try save(
            Preferences(
                enabled: true,
                alerts: categories.contains("alerts"),
                security: categories.contains("security")
            ),
            role: role
        )
    }

    private mutating func save(
        _ preferences: Preferences,
        role: Role = .member,
        revision: Int64? = nil
    ) throws {
        let caller = Self.caller(role: role)
        try installation.save(
            SettingsUpdate(
                expectedRevision: revision ?? installation.revision,
                preferences: preferences
            ),
            by: caller,
            access: installation.access(of: caller, ownerIsSignedIn: true),
            counter: &counter
        )
    }

    private mutating func register(
        _ registration: DeviceRegistration,
        revision: Int64? = nil
    ) throws {
        try installation.register(
            registration,
            expectedRevision: revision ?? installation.revision,
            access: installation.access(of: Self.caller(), ownerIsSignedIn: true),
            now: now,
            counter: &counter
        )
    }

    private func expect(_ problem: RequestProblem, _ body: () throws -> Void) {
        #expect(throws: problem) { try body() }
    }

    static func caller(user: String = "user", role: Role = .member) -> Caller {
        Caller(
            session: Session(
                id: SessionID("session"),
                userID: UserID(user),
                installationID: InstallationID("phone"),
                deviceName: "Phone",
                createdAt: UnixSeconds(0),
                expiresAt: UnixSeconds(10_000),
                accessExpiresAt: UnixSeconds(900)
            ),
            role: role
        )
    }

    static func token(_ hex: String) -> DeviceToken {
        DeviceToken(hex) ?? registration().token
    }

    static func registration() -> DeviceRegistration {
        guard let token = DeviceToken("aa11"), let keyID = KeyID(Phone.keyID) else {
            preconditionFailure("the samples are well-formed")
        }
        return DeviceRegistration(
            sessionID: SessionID("session"),
            deploymentID: DeploymentID("https://push.example.org"),
            token: token,
            environment: .sandbox,
            keyID: keyID,
            keyDigest: Blob([1]),
            sealedKey: Blob([1]),
            confirmedAt: UnixMilliseconds(1_000_000)
        )
    }
}
