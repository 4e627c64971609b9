import Contracts
import ServiceKit
import Testing

@testable import PushBusDevice

/// The state machine, the answers that are on their way, and the rules they are held against.
struct RandomLife {
    /// An effect that was asked for and not answered, with what it was asked under.
    struct Asked {
        var effect: DeviceEffect
        var generation: Int64
    }

    var state = DeviceState()
    var asked: [Asked] = []
    var now = UnixSeconds(2_000_000_000)
    var random: RandomSource
    var number = 0
    var seen: Set<String> = []
    /// Preferences that the server has confirmed as switched on, by session.
    var confirmed: Set<SessionID> = []
    var disclosed: Set<SessionID> = []

    mutating func below(_ bound: Int) -> Int { Int(random.uniform(below: UInt64(bound))) }

    mutating func pick<Value>(_ values: [Value]) -> Value { values[below(values.count)] }

    mutating func run(steps: Int) throws {
        for _ in 0..<steps {
            now = now.adding(seconds: Int64(below(40)))
            switch below(10) {
            case 0...4 where !asked.isEmpty: answer(asked.remove(at: below(asked.count)))
            case 5 where !asked.isEmpty: asked.remove(at: below(asked.count))
            case 6 where below(20) == 0: try restart()
            default: send(wish())
            }
        }
    }

    /// The process dies: what was asked is never answered, what was stored stays.
    private mutating func restart() throws {
        let store = MemoryStore()
        try store.store(state, .state)
        let stored: DeviceState? = try store.value(.state)
        #expect(stored == state)
        asked = []
        send(.reconcile(.launch))
    }

    private mutating func session() -> Session {
        number += 1
        return Session(
            server: "https://push.example.test",
            sessionID: SessionID("session-\(number)"),
            userID: UserID(pick(["alice", "bob"])),
            deploymentID: DeploymentID("https://push.example.test"),
            role: .member,
            installationID: InstallationID("phone-1"),
            tokens: SessionTokens(
                access: "access-\(number)",
                refresh: "refresh-\(number)",
                accessExpiresAt: now.adding(seconds: 900)
            )
        )
    }

    private mutating func keyID() -> KeyID {
        guard let id = KeyID(random16: random.bytes(16)) else { preconditionFailure() }
        return id
    }

    private mutating func wish() -> DeviceEvent {
        switch below(14) {
        case 0, 1: return .signedIn(session(), keyID())
        case 2: return .signOut
        case 3: return .disclosureShown
        case 4, 5:
            return .choose(
                PreferenceChanges(
                    enabled: pick([true, true, false]),
                    alerts: pick([true, nil])
                )
            )
        case 6: return .retry
        case 7: return .keyStaged(keyID())
        case 8: return .permission(pick([.notAsked, .granted, .denied]))
        case 9: return .answered(.rejected, generation: state.generation)
        case 10:
            let sessions = [state.lost?.session.sessionID, state.selected].compactMap(\.self)
            guard let session = sessions.first else { return .reconcile(.foreground) }
            return pick([.selected(session), .recovered(session), .listed(session, [session])])
        case 11: return .answered(.refreshFailed, generation: state.generation - 1)
        default: return .reconcile(pick(DeviceEvent.Occasion.allCases))
        }
    }

    private func settings(_ preferences: PushPreferences, _ revision: Int64) -> PushSettings {
        PushSettings(
            revision: revision,
            preferences: preferences,
            securityAllowed: false,
            tasksAllowed: false,
            taskFailureAvailable: false,
            registered: preferences.enabled,
            deliveryAvailable: preferences.enabled,
            testAvailable: false
        )
    }

    private mutating func failure() -> DeviceError {
        let code = pick([
            DeviceError.Code.unreachable, .staleRevision, .forbidden, .unavailable,
            .unsupported,
        ])
        return DeviceError(code, "no")
    }

    private mutating func answer(_ one: Asked) {
        let works = below(3) > 0
        let generation = one.generation
        let revision = (state.login?.enrollment.confirmed?.revision ?? 0) + Int64(below(2))
        let now = state.login?.enrollment.confirmed?.preferences ?? PushPreferences()
        switch one.effect {
        case .fetchProof:
            let proof = DeletionProof("proof-\(generation)")
            send(
                .answered(
                    .proof(works ? .success(proof) : .failure(failure())),
                    generation: generation
                )
            )
        case .readSettings:
            let read = settings(below(4) == 0 ? PushPreferences(enabled: true) : now, revision)
            send(
                .answered(
                    .settings(works ? .success(read) : .failure(failure())),
                    generation: generation
                )
            )
        case .save(let preferences, let over):
            let saved = settings(preferences, over + 1)
            send(
                .answered(
                    .saved(works ? .success(saved) : .failure(failure()), of: preferences),
                    generation: generation
                )
            )
        case .register(let registration, let over):
            let done = settings(now, over + 1)
            send(
                .answered(
                    .registered(works ? .success(done) : .failure(failure()), registration),
                    generation: generation
                )
            )
        case .readPermission, .requestPermission:
            send(.permission(pick([.notAsked, .granted, .denied])))
        case .requestToken:
            guard let token = DeviceToken(pick(["00ff", "11ee"])) else { return }
            let issued = IssuedToken(token: token, environment: .sandbox)
            send(.issued(works ? .success(issued) : .failure(DeviceError(.token, "no"))))
        case .end(let end):
            let refused = DeviceError(
                .unauthorized,
                "no",
                status: 401,
                serverCode: "invalid_credentials"
            )
            let failed = below(8) == 0 ? refused : failure()
            send(.ended(end.sessionID, works ? .success(()) : .failure(failed)))
        case .keepKeys: break
        }
    }
}
