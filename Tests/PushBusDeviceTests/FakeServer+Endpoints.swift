import Contracts
import PushBusCrypto
import PushBusDevice

/// What the endpoints answer.
extension FakeServer {
    private static func verify(_ request: Request, _ world: World) -> Account? {
        // A pairing code is the account's name with "code-" before it.
        let name =
            request.body?["code"]?.string.map { $0.replacing("code-", with: "") }
            ?? request.body?["username"]?.string
        guard let account = world.accounts[name ?? ""] else { return nil }
        if request.body?["username"] != nil, request.body?["password"] != .string("right") {
            return nil
        }
        return account
    }

    static func signIn(_ request: Request, _ world: inout World) -> TransportReply {
        guard let account = verify(request, world) else { return invalid }
        if let code = account.oneTimeCode, request.body?["username"] != nil {
            guard let given = request.body?["one_time_code"]?.string else {
                return problem(401, "one_time_code_required")
            }
            guard given == code else { return invalid }
        }
        let installation = request.body?["installation_id"]?.string ?? ""
        // The same account's older login on the same phone ends.
        for (id, row) in world.sessions
        where row.user == account.userID && row.installation == installation {
            world.sessions[id] = nil
        }
        let id = world.make("session")
        world.sessions[id] = SessionRow(
            user: account.userID,
            installation: installation,
            access: world.make("access"),
            refresh: world.make("refresh")
        )
        return grant(id, world)
    }

    private static func grant(_ id: String, _ world: World) -> TransportReply {
        guard let row = world.sessions[id] else { return invalid }
        let role = world.accounts.values.first { $0.userID == row.user }?.role ?? .member
        return data([
            "session_id": .string(id), "user_id": .string(row.user.text),
            "deployment_id": .string(address), "role": .string(role.rawValue),
            "access_token": .string(row.access), "refresh_token": .string(row.refresh),
            "expires_in": .integer(900), "session_expires_at": .integer(2_002_592_000),
        ])
    }

    static func refresh(_ request: Request, _ world: inout World) -> TransportReply {
        let token = request.body?["refresh_token"]?.string ?? ""
        guard let id = world.sessions.first(where: { $0.value.refresh == token })?.key else {
            return invalid
        }
        world.sessions[id]?.used.insert(token)
        let (access, refresh) = (world.make("access"), world.make("refresh"))
        world.sessions[id]?.access = access
        world.sessions[id]?.refresh = refresh
        return grant(id, world)
    }

    static func revoke(_ request: Request, _ world: inout World) -> TransportReply {
        let id = request.body?["session_id"]?.string ?? ""
        guard let row = world.sessions[id] else { return data([:]) }
        let proof = request.body?["proof"]?.string
        let hash = request.body?["refresh_token_hash"]?.string
        let hashes = row.used.union([row.refresh]).map { SHA256.hex($0) }
        guard proof.map(row.proofs.contains) ?? hashes.contains(hash ?? "") else { return invalid }
        world.sessions[id] = nil
        return data([:])
    }

    static func openRecovery(_ request: Request, _ world: inout World) -> TransportReply {
        guard let account = verify(request, world) else { return invalid }
        let token = world.make("recovery")
        let installation = request.body?["installation_id"]?.string ?? ""
        world.recoveries[token] = (account.userID, installation)
        return data([
            "recovery_token": .string(token), "expires_in": .integer(300),
            "user_id": .string(account.userID.text), "installation_id": .string(installation),
        ])
    }

    static func recovery(_ request: Request, _ world: inout World) -> TransportReply {
        guard let scope = world.recoveries[request.bearer ?? ""] else { return unauthorized }
        let own = world.sessions.filter {
            $0.value.user == scope.user && $0.value.installation == scope.installation
        }
        guard request.method == "DELETE" else {
            return data([
                "sessions": .array(own.keys.sorted().map { device($0, scope.installation) })
            ])
        }
        let id = request.path.replacing("/auth/recovery/sessions/", with: "")
        guard own[id] != nil else { return problem(404, "not_found") }
        world.sessions[id] = nil
        world.recoveries[request.bearer ?? ""] = nil
        return data([:])
    }

    private static func device(_ id: String, _ installation: String) -> JSONValue {
        .object([
            "session_id": .string(id), "installation_id": .string(installation),
            "name": .string("phone"), "paired_at": .integer(2_000_000_000),
            "last_active_at": .integer(2_000_000_000), "expires_at": .integer(2_002_592_000),
        ])
    }

    static func authorized(
        _ request: Request,
        _ id: String,
        _ session: SessionRow,
        _ world: inout World
    ) -> TransportReply {
        switch (request.method, request.path) {
        case ("POST", "/auth/logout"):
            world.sessions[id] = nil
            return data([:])
        case ("POST", "/auth/proof"):
            guard request.body?["expected_session_id"] == .string(id) else {
                return problem(409, "other_session")
            }
            let proof = world.make("proof")
            world.sessions[id]?.proofs.insert(proof)
            return data(["session_id": .string(id), "proof": .string(proof)])
        case ("GET", "/devices"):
            let own = world.sessions.filter { $0.value.user == session.user }.keys.sorted()
            return data(["devices": .array(own.map { device($0, session.installation) })])
        case ("DELETE", let path) where path.hasPrefix("/devices/"):
            let other = path.replacing("/devices/", with: "")
            guard world.sessions[other]?.user == session.user else {
                return problem(404, "not_found")
            }
            world.sessions[other] = nil
            return data([:])
        case ("GET", "/push/settings"): return settings(session, world)
        case ("PUT", "/push/settings"): return save(request, id, session, &world)
        case ("POST", "/push/encrypted-register"): return register(request, id, session, &world)
        default: return problem(404, "not_found")
        }
    }

    private static func role(_ session: SessionRow, _ world: World) -> Role {
        world.accounts.values.first { $0.userID == session.user }?.role ?? .member
    }

    private static func settings(_ session: SessionRow, _ world: World) -> TransportReply {
        let phone = world.phones[session.installation] ?? Phone()
        let isAdmin = role(session, world) == .admin
        let isRegistered = phone.token != nil
        var members: [String: JSONValue] = [
            "revision": .integer(phone.revision),
            "preferences": .object([
                "enabled": .bool(phone.preferences.enabled),
                "alerts": .bool(phone.preferences.alerts),
                "security": .bool(phone.preferences.security),
                "task_failure": .bool(phone.preferences.taskFailure),
                "task_success": .bool(phone.preferences.taskSuccess),
            ]),
            "security_allowed": .bool(isAdmin), "tasks_allowed": .bool(isAdmin),
            "task_failure_available": .bool(isAdmin), "registered": .bool(isRegistered),
            "delivery_available": .bool(isRegistered && phone.reason == nil),
            "test_available": .bool(isRegistered && phone.reason == nil),
        ]
        if let reason = phone.reason {
            members["delivery_unavailable_reason"] = .string(reason)
        }
        return data(members)
    }

    /// Nil when the caller may write; takes an installation over whose owner is gone.
    private static func own(
        _ request: Request,
        _ id: String,
        _ session: SessionRow,
        _ world: inout World
    ) -> TransportReply? {
        var phone = world.phones[session.installation] ?? Phone()
        if let owner = phone.owner, owner != id {
            if world.sessions[owner].map({ $0.user != session.user }) ?? false {
                return problem(403, "owned_elsewhere")
            }
            phone.token = nil
        }
        guard request.body?["expected_revision"] == .integer(phone.revision) else {
            return problem(409, "stale_revision")
        }
        phone.owner = id
        world.phones[session.installation] = phone
        return nil
    }

    private static func save(
        _ request: Request,
        _ id: String,
        _ session: SessionRow,
        _ world: inout World
    ) -> TransportReply {
        let wanted = request.body?["preferences"]
        func flag(_ name: String) -> Bool { wanted?[name] == .bool(true) }
        let isMember = role(session, world) == .member
        if isMember, flag("security") || flag("task_failure") || flag("task_success") {
            return problem(403, "forbidden_category")
        }
        if let refusal = own(request, id, session, &world) { return refusal }
        var phone = world.phones[session.installation] ?? Phone()
        phone.revision += 1
        phone.preferences = PushPreferences(
            enabled: flag("enabled"),
            alerts: flag("alerts"),
            security: flag("security"),
            taskFailure: flag("task_failure"),
            taskSuccess: flag("task_success")
        )
        if !phone.preferences.enabled { phone.token = nil }
        world.phones[session.installation] = phone
        return settings(session, world)
    }

    private static func register(
        _ request: Request,
        _ id: String,
        _ session: SessionRow,
        _ world: inout World
    ) -> TransportReply {
        guard world.phones[session.installation]?.preferences.enabled == true else {
            return problem(403, "not_enabled")
        }
        if let refusal = own(request, id, session, &world) { return refusal }
        var phone = world.phones[session.installation] ?? Phone()
        phone.revision += 1
        phone.token = request.body?["device_token"]?.string
        phone.keyID = request.body?["content_key_id"]?.string
        phone.reason = nil
        world.phones[session.installation] = phone
        return settings(session, world)
    }
}
