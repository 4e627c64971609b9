import Contracts
import RegistrationCore

/// What Registration keeps, in its own terms. Every change is committed when its call returns;
/// refusals are thrown as `RequestProblem` and change nothing.
package typealias RegistrationStore = AccountStore & AccountAdministration & SessionStore
    & RecoveryStore & InstallationStore & AudienceStore & TestStore & SealedStore & GenerationStore
    & StoreBackup

/// Accounts and pairing codes.
///
/// Here and in ``AccountAdministration`` the session of `caller` has to stand when the change commits,
/// and its account has to be an administrator then; nil is an operator, whom the bus has let in.
package protocol AccountStore: Sendable {
    /// Adds an account unless the name is taken; says which account has the name now.
    func addAccount(
        _ account: Account,
        passwordHash: String,
        by caller: Caller?,
        now: UnixSeconds
    ) async throws -> (id: UserID, added: Bool)

    func account(_ name: AccountName) async throws -> StoredAccount?

    /// Keeps the hash of a pairing code; false when there is no such account. Every session may ask
    /// for one of its own account.
    func savePairingCode(
        _ hash: Blob,
        for account: AccountName,
        expiresAt: UnixSeconds,
        by caller: Caller?,
        now: UnixSeconds
    ) async throws -> Bool
}

/// What an operator does with accounts. Nil answers say that there is no such account.
package protocol AccountAdministration: Sendable {
    /// Accounts after a name, in byte order, and whether there are more.
    func accounts(
        after name: String?,
        limit: Int,
        now: UnixSeconds
    ) async throws -> (accounts: [AccountSummary], more: Bool)

    /// Gives an account another role; categories that it gains take a new number everywhere.
    func changeRole(
        of account: AccountName,
        to role: Role,
        by caller: Caller?,
        now: UnixSeconds
    ) async throws -> (id: UserID, previous: Role)?

    /// Replaces the password and ends all sessions and codes of the account.
    func changePassword(
        of account: AccountName,
        hash: String,
        by caller: Caller?,
        now: UnixSeconds
    ) async throws -> (id: UserID, sessionsEnded: Int)?

    /// Asks for one-time codes of a new secret at sign-in, or no more.
    func changeTOTP(
        of account: AccountName,
        secret: Blob?,
        by caller: Caller?,
        now: UnixSeconds
    ) async throws -> UserID?

    /// Deletes an account with all that it has.
    func deleteAccount(
        _ account: AccountName,
        by caller: Caller?,
        now: UnixSeconds
    ) async throws -> (id: UserID, sessionsEnded: Int)?
}

/// Sessions and what proves them.
package protocol SessionStore: Sendable {
    /// Opens a session, ending an older one of the same account on the same installation. Nil when
    /// the proof does not hold; a pairing code is spent by the attempt that succeeds.
    func openSession(_ session: NewSession, by proof: SessionProof) async throws -> Caller?

    /// Who an access token speaks for, nil when it is unknown or expired.
    func caller(accessHash: Blob, now: UnixSeconds) async throws -> Caller?

    /// Trades a refresh token for new tokens once; nil when it is unknown, used or expired.
    func refresh(
        _ refreshHash: Blob,
        to tokens: TokenHashes,
        lifetimes: SessionLifetimes,
        now: UnixSeconds
    ) async throws -> Caller?

    /// The account of an unused refresh token, nil when it is unknown, used or expired.
    func owner(refreshHash: Blob, now: UnixSeconds) async throws -> UserID?

    /// Ends a session and forgets what it registered and proved; ending an absent one is fine.
    func endSession(_ id: SessionID) async throws

    /// Ends a live session of an account; false when the account has none of that id.
    func endSession(_ id: SessionID, of user: UserID, now: UnixSeconds) async throws -> Bool

    /// The live sessions of an account, newest first, at most 1000.
    func devices(of user: UserID, now: UnixSeconds) async throws -> [Device]

    /// Keeps the hash of a proof that ends the caller's session.
    func saveProof(_ hash: Blob, of caller: Caller, now: UnixSeconds) async throws

    /// Ends exactly that session, expired or not, when the hash is of one of its proofs or of one of
    /// its refresh tokens, used or not.
    func revoke(_ id: SessionID, evidence: Blob) async throws -> Revocation.Outcome

    /// Forgets expired access tokens and codes, what expired sessions registered, sessions that ended
    /// ``Session/retentionSeconds`` ago and old tests; returns how many rows changed.
    func purge(now: UnixSeconds) async throws -> Int
}

/// Sessions that a phone has lost.
package protocol RecoveryStore: Sendable {
    /// Keeps the hash of an authorization; nil when the proof does not hold.
    func openRecovery(
        _ hash: Blob,
        on installation: InstallationID,
        by proof: SessionProof,
        now: UnixSeconds
    ) async throws -> Recovery?

    /// What an authorization is for, nil when it is unknown or expired.
    func recovery(_ hash: Blob, now: UnixSeconds) async throws -> Recovery?

    /// The sessions of that account and installation, newest first, expired ones too.
    func sessions(of recovery: Recovery) async throws -> [Device]

    /// Ends exactly that session and uses the authorization up; false when the session is not of that
    /// account and installation, or when the authorization was used up meanwhile.
    func endSession(_ id: SessionID, of recovery: Recovery) async throws -> Bool
}

/// Settings and registrations, as seen by a signed-in phone.
package protocol InstallationStore: Sendable {
    func settings(of caller: Caller, now: UnixSeconds) async throws -> SettingsView

    func save(
        _ update: SettingsUpdate,
        by caller: Caller,
        now: UnixSeconds
    ) async throws -> SettingsView

    /// Registers a token and key, and clears the token wherever else it was in the deployment.
    func register(
        _ registration: DeviceRegistration,
        expectedRevision: Int64,
        by caller: Caller,
        now: UnixMilliseconds
    ) async throws -> SettingsView
}

/// What the other services ask.
package protocol AudienceStore: Sendable {
    /// The committed binding counter.
    func watermark() async throws -> Int64

    /// Up to `page.limit` installations after `page.after`, in byte order.
    func audience(_ page: AudiencePage, now: UnixSeconds) async throws -> AudienceRows

    /// One verdict for each check, in order.
    func eligibility(
        _ checks: [EligibilityCheck.Check],
        now: UnixMilliseconds
    ) async throws -> [EligibilityCheckAnswer.Verdict]

    /// Counts the sender's totals and applies its items, unless the guard stands.
    func clean(
        _ cleanup: RegistrationCleanup,
        now: UnixMilliseconds
    ) async throws -> CleanupReport
}

/// Test notifications.
package protocol TestStore: Sendable {
    /// Commits a new test, or finds the one that the same request committed before.
    func requestTest(
        _ request: TestRequest,
        by caller: Caller,
        now: UnixSeconds
    ) async throws -> TestNotification

    /// The caller's own test of that id.
    func test(_ id: EventID, of caller: Caller) async throws -> TestNotification?

    /// Tests that EventIngest has not acknowledged and that have not expired, oldest first.
    func unsentTests(limit: Int, now: UnixSeconds) async throws -> [TestNotification]

    func settleTest(_ id: EventID, _ progress: TestNotification.Progress) async throws
}

/// An account with the hash of its password; it has no description.
package struct StoredAccount: Sendable, CustomStringConvertible, CustomReflectable {
    package let account: Account
    package let passwordHash: String
    /// The sealed secret of one-time codes; nil when the account asks for none.
    package let totpSecret: Blob?
    /// The step of the last code that was used.
    package let totpLastStep: Int64

    package var description: String { "‹account›" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Says which account is meant.
package enum AccountName: Hashable, Sendable {
    case username(String)
    case id(UserID)
}

/// Why a session may be opened.
package enum SessionProof: Sendable {
    /// The password of that account was verified against that hash, which has to be there still; and
    /// the one-time code of that step, which has to be unused still, if the account asks for one.
    case password(UserID, hash: String, step: Int64?)
    /// The hash of a pairing code.
    case pairing(Blob)
}

/// A session that is to be opened.
package struct NewSession: Sendable {
    package let id: SessionID
    package let device: SignInDevice
    package let tokens: TokenHashes
    package let createdAt: UnixSeconds
    package let expiresAt: UnixSeconds
    package let accessExpiresAt: UnixSeconds

    package init(
        id: SessionID,
        device: SignInDevice,
        tokens: TokenHashes,
        createdAt: UnixSeconds,
        expiresAt: UnixSeconds,
        accessExpiresAt: UnixSeconds
    ) {
        self.id = id
        self.device = device
        self.tokens = tokens
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.accessExpiresAt = accessExpiresAt
    }
}

/// Installations of a page with what else decides about them.
package struct AudienceRows: Sendable {
    package var rows: [(installation: Installation, standing: Eligibility.Standing)]
    package var more: Bool
}

/// What a clean-up did.
package struct CleanupReport: Sendable {
    package var results: [CleanupResult]
    /// Environments for which the mass-failure guard stands.
    package var guarded: Set<APNsEnvironment>
}
