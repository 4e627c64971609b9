import Contracts
import RegistrationCore
import Storage

/// The columns of an installation, written and read in one order.
enum InstallationRow {
    static let columns = """
        i.installation_id, i.user_id, i.revision, i.binding, i.bound_at_ms, \
        i.enabled, i.alerts, i.security, i.task_failure, i.task_success, \
        i.since_alerts, i.since_security, i.since_task_failure, i.since_task_success, \
        i.session_id, i.deployment_id, i.device_token, i.environment, \
        i.key_id, i.key_digest, i.sealed_key, i.confirmed_at_ms, i.doubt
        """
    /// How many columns those are; what a query adds comes after them.
    static let count: Int32 = 23

    private static let subscriptions: [Category] = [.alert, .security, .taskFailure, .taskSuccess]

    static func read(_ row: some SQLRow) -> Installation {
        var installation = Installation(id: InstallationID(row.text(0)))
        installation.userID = row.textOrNil(1).map { UserID($0) }
        installation.revision = row.int(2)
        installation.binding = row.int(3)
        installation.boundAt = UnixMilliseconds(row.int(4))
        installation.preferences = Preferences(
            enabled: row.bool(5),
            alerts: row.bool(6),
            security: row.bool(7),
            taskFailure: row.bool(8),
            taskSuccess: row.bool(9)
        )
        for (index, category) in subscriptions.enumerated() {
            let since = row.int(Int32(10 + index))
            if since != 0 { installation.since[category] = since }
        }
        installation.registration = registration(row)
        return installation
    }

    private static func registration(_ row: some SQLRow) -> DeviceRegistration? {
        guard let token = DeviceToken(row.text(16)),
            let environment = APNsEnvironment(rawValue: row.text(17)),
            let keyID = KeyID(row.text(18))
        else { return nil }
        return DeviceRegistration(
            sessionID: SessionID(row.text(14)),
            deploymentID: DeploymentID(row.text(15)),
            token: token,
            environment: environment,
            keyID: keyID,
            keyDigest: Blob(row.blob(19)),
            sealedKey: Blob(row.blob(20)),
            confirmedAt: UnixMilliseconds(row.int(21)),
            doubt: row.textOrNil(22).flatMap { CleanupKind(rawValue: $0) }
        )
    }

    static func find(
        _ id: InstallationID,
        in connection: some SQLConnection
    ) throws -> Installation? {
        try connection.first(
            "SELECT \(columns) FROM installations i WHERE i.installation_id = $1",
            [.text(id.text)],
            read
        )
    }

    static func write(_ installation: Installation, in connection: some SQLConnection) throws {
        let preferences = installation.preferences
        let registration = installation.registration
        var values: [SQLValue] = [
            .text(installation.id.text),
            .text(orNull: installation.userID?.text),
            .int(installation.revision),
            .int(installation.binding),
            .int(installation.boundAt.milliseconds),
            .bool(preferences.enabled),
            .bool(preferences.alerts),
            .bool(preferences.security),
            .bool(preferences.taskFailure),
            .bool(preferences.taskSuccess),
        ]
        values += subscriptions.map { .int(installation.since[$0] ?? 0) }
        values += [
            .text(orNull: registration?.sessionID.text),
            .text(orNull: registration?.deploymentID.text),
            .text(orNull: registration?.token.hex),
            .text(orNull: registration?.environment.rawValue),
            .text(orNull: registration?.keyID.description),
            .blob(orNull: registration?.keyDigest.bytes),
            .blob(orNull: registration?.sealedKey.bytes),
            .int(orNull: registration?.confirmedAt.milliseconds),
            .text(orNull: registration?.doubt?.rawValue),
        ]
        try connection.execute(replace, values)
    }

    private static let replace: String = {
        let names = columns.split(separator: ", ").map { $0.dropFirst(2) }
        let changes = names.dropFirst().map { "\($0) = excluded.\($0)" }
        let places = (1...names.count).map { "$\($0)" }
        return """
            INSERT INTO installations (\(names.joined(separator: ", "))) \
            VALUES (\(places.joined(separator: ", "))) ON CONFLICT (installation_id) \
            DO UPDATE SET \(changes.joined(separator: ", "))
            """
    }()
}
