import Contracts
import RegistrationCore
import Storage

/// Registration's store in an SQL database that one process writes to.
///
/// Transactions run one after another, so the binding counter, one row that the registering
/// transaction takes, grows in the order of the commits.
protocol SQLRegistrationStore: RegistrationStore {
    associatedtype Database: SQLDatabase

    var database: Database { get }
    /// SHA-256, which the rules take as a parameter.
    var hash: @Sendable ([UInt8]) -> [UInt8] { get }

    /// The installations of these names in their order, nil for what is not there.
    static func candidates(
        _ ids: [InstallationID],
        now: UnixSeconds,
        in connection: Database.Connection
    ) throws -> [InstallationCandidate?]

    /// Lets go of the database; required.
    func close() async

    /// Keeps with the generation where the store is, if a copy of it can be told from that.
    static func markHome(in connection: Database.Connection) throws
}

/// What a change of the caller's own installation works on.
struct InstallationChange {
    /// As of the transaction.
    let caller: Caller
    var installation: Installation
    let access: Installation.Access
    var counter: BindingCounter
}

extension SQLRegistrationStore {
    static func markHome(in connection: Database.Connection) throws {}
}

extension SQLRegistrationStore {
    /// Runs a rule on the caller's installation and writes back what it changed.
    static func change(
        _ caller: Caller,
        now: UnixSeconds,
        in connection: Database.Connection,
        _ rule: (inout InstallationChange) throws -> Void
    ) throws -> SettingsView {
        let caller = try requireSession(caller, now: now, in: connection)
        let current = try counter(in: connection)
        let (installation, access) = try find(caller, now: now, in: connection)
        var change = InstallationChange(
            caller: caller,
            installation: installation,
            access: access,
            counter: current
        )
        try rule(&change)
        try InstallationRow.write(change.installation, in: connection)
        if change.counter != current {
            try save(change.counter, in: connection)
        }
        return SettingsView(change.installation, caller: caller, access: .own)
    }

    /// The caller's installation and how the caller stands to it.
    static func find(
        _ caller: Caller,
        now: UnixSeconds,
        in connection: Database.Connection
    ) throws -> (Installation, Installation.Access) {
        let id = caller.session.installationID
        let installation = try InstallationRow.find(id, in: connection) ?? Installation(id: id)
        let ownerIsSignedIn = try installation.userID.map { owner in
            try connection.first(
                """
                SELECT 1 FROM sessions
                WHERE installation_id = $1 AND user_id = $2 AND expires_at > $3
                """,
                [.text(id.text), .text(owner.text), .int(now.seconds)]
            ) { _ in true } ?? false
        }
        let access = installation.access(of: caller, ownerIsSignedIn: ownerIsSignedIn ?? false)
        return (installation, access)
    }

    static func counter(in connection: Database.Connection) throws -> BindingCounter {
        let value = try connection.first("SELECT value FROM binding_counter WHERE id = 1") {
            $0.int(0)
        }
        guard let value else {
            throw StorageError(.corrupt, "the binding counter is missing; restore a backup")
        }
        return BindingCounter(value)
    }

    static func save(_ counter: BindingCounter, in connection: Database.Connection) throws {
        try connection.execute(
            "UPDATE binding_counter SET value = $1 WHERE id = 1",
            [.int(counter.value)]
        )
    }

    /// The caller as of this transaction: since its token was looked at, the session may have ended
    /// and the account may have got another role.
    @discardableResult
    static func requireSession(
        _ caller: Caller,
        now: UnixSeconds,
        in connection: Database.Connection
    ) throws -> Caller {
        let role = try connection.first(
            """
            SELECT a.role FROM sessions s JOIN accounts a ON a.user_id = s.user_id
            WHERE s.session_id = $1 AND s.expires_at > $2
            """,
            [.text(caller.session.id.text), .int(now.seconds)]
        ) { Role(rawValue: $0.text(0)) ?? .member }
        guard let role else { throw RequestProblem.unauthorized }
        return Caller(session: caller.session, role: role)
    }

    /// Refuses who does not administer accounts any more; nil is an operator.
    static func requireAdministrator(
        _ caller: Caller?,
        now: UnixSeconds,
        in connection: Database.Connection
    ) throws {
        guard let caller else { return }
        let current = try requireSession(caller, now: now, in: connection)
        if current.role != .admin { throw RequestProblem.administratorsOnly }
    }
}

extension SQLRegistrationStore {
    package func settings(of caller: Caller, now: UnixSeconds) async throws -> SettingsView {
        try await database.read { connection in
            let (installation, access) = try Self.find(caller, now: now, in: connection)
            return SettingsView(installation, caller: caller, access: access)
        }
    }

    package func save(
        _ update: SettingsUpdate,
        by caller: Caller,
        now: UnixSeconds
    ) async throws -> SettingsView {
        try await database.write { connection in
            try Self.change(caller, now: now, in: connection) { change in
                try change.installation.save(
                    update,
                    by: change.caller,
                    access: change.access,
                    counter: &change.counter
                )
            }
        }
    }

    package func register(
        _ registration: DeviceRegistration,
        expectedRevision: Int64,
        by caller: Caller,
        now: UnixMilliseconds
    ) async throws -> SettingsView {
        try await database.write(rows: 2) { connection in
            try Self.change(caller, now: now.second, in: connection) { change in
                try change.installation.register(
                    registration,
                    expectedRevision: expectedRevision,
                    access: change.access,
                    now: now,
                    counter: &change.counter
                )
                try Self.clearElsewhere(registration, of: caller, in: connection)
            }
        }
    }

    /// A token of an environment belongs to one installation of a deployment.
    private static func clearElsewhere(
        _ registration: DeviceRegistration,
        of caller: Caller,
        in connection: Database.Connection
    ) throws {
        let others = try connection.query(
            """
            SELECT \(InstallationRow.columns) FROM installations i
            WHERE i.device_token = $1 AND i.environment = $2 AND i.deployment_id = $3
                AND i.installation_id <> $4
            """,
            [
                .text(registration.token.hex),
                .text(registration.environment.rawValue),
                .text(registration.deploymentID.text),
                .text(caller.session.installationID.text),
            ],
            InstallationRow.read
        )
        for var other in others {
            other.forgetRegistration()
            try InstallationRow.write(other, in: connection)
        }
    }
}
