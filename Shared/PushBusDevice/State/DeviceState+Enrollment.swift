import Contracts

/// The way to notifications: what moves it on and what holds it up.
extension DeviceState {
    mutating func reconcile(
        _ occasion: DeviceEvent.Occasion,
        _ now: UnixSeconds
    ) -> [DeviceEffect] {
        if let tap, now >= tap.at.adding(seconds: BufferedTap.lifeSeconds) { self.tap = nil }
        let ends = pendingEnds
        guard occasion != .beforeSignIn else { return ends }
        guard var login, lost == nil else {
            return [.keepKeys(of: (login ?? lost)?.session.sessionID)] + ends
        }
        // What failed for a while is tried again; what was refused waits for a person.
        if login.enrollment.draft?.trouble?.isRetriable == true {
            login.enrollment.draft?.attempt = Enrollment.Attempt()
        }
        if login.enrollment.registrationTrouble?.isRetriable == true {
            login.enrollment.registering = Enrollment.Attempt()
        }
        self.login = login
        let enrollment = login.enrollment
        var effects: [DeviceEffect] = [.keepKeys(of: login.session.sessionID)] + ends
        if login.proof == nil { effects.append(.fetchProof) }
        effects.append(.readPermission)
        // A system may issue another token at any launch.
        if occasion == .launch, enrollment.issued != nil, enrollment.permission == .granted {
            effects.append(.requestToken)
        }
        return effects + [.readSettings]
    }

    /// What people do.
    mutating func wish(_ event: DeviceEvent) -> [DeviceEffect] {
        guard var login else { return [] }
        switch event {
        case .disclosureShown: login.enrollment.disclosure = Disclosure.version
        case .choose(let changes):
            let earlier = login.enrollment.draft
            login.enrollment.draft = Enrollment.Draft(
                changes: earlier?.changes.merged(with: changes) ?? changes,
                trouble: earlier?.trouble,
                savedOver: earlier?.savedOver
            )
        case .retry:
            login.enrollment.draft?.attempt = Enrollment.Attempt()
            login.enrollment.registering = Enrollment.Attempt()
            self.login = login
            // Whatever was refused before may be allowed now, and the settings may have changed.
            let proof: [DeviceEffect] = login.proof == nil ? [.fetchProof] : []
            return proof + [.readPermission, .readSettings]
        case .keyStaged(let keyID): login.enrollment.keyID = keyID
        default: break
        }
        self.login = login
        return next
    }

    /// What the phone's system says.
    mutating func word(_ event: DeviceEvent) -> [DeviceEffect] {
        guard var login else { return [] }
        var moves = false
        switch event {
        case .permission(let status):
            moves = login.enrollment.permission != status
            login.enrollment.permission = status
        case .issued(.success(let issued)):
            moves = login.enrollment.issued != issued
            login.enrollment.issued = issued
            if moves { login.enrollment.registering = Enrollment.Attempt() }
        case .issued(.failure(let error)):
            // Without a new token the one that is known goes on.
            guard login.enrollment.issued == nil else { return [] }
            login.enrollment.registrationTrouble = error.code
            login.enrollment.registering.isHeld = true
        default: break
        }
        self.login = login
        return moves ? next : []
    }

    /// What the server answers to this login.
    mutating func answer(_ answer: DeviceEvent.Answer, _ now: UnixSeconds) -> [DeviceEffect] {
        guard var login else { return [] }
        switch answer {
        case .proof(.success(let proof)):
            login.proof = proof
            self.login = login
            return next
        case .proof(.failure(let error)):
            // A server that gives no proof is one whose settings are left alone.
            login.enrollment.proofFailed(error.code == .unsupported ? .proofMissing : error.code)
        case .settings(.success(let settings)):
            login.enrollment.contactTrouble = nil
            login.enrollment.confirm(settings)
            self.login = login
            return next
        case .settings(.failure(let error)):
            login.enrollment.contactTrouble = error.code
            if login.enrollment.draft != nil { login.enrollment.hold(save: error.code) }
        case .saved(.success(let settings), let sent):
            login.enrollment.saved(settings, sent)
            self.login = login
            return next
        case .saved(.failure(let error), _):
            let again = login.enrollment.saveFailed(error)
            self.login = login
            return again ? [.readSettings] : []
        case .registered(.success(let settings), let registration):
            login.enrollment.registered(settings, registration)
        case .registered(.failure(let error), _):
            let again = login.enrollment.registerFailed(error)
            self.login = login
            return again ? [.readSettings] : []
        case .refreshing(let owner): login.lease = RefreshLease(owner: owner, since: now)
        case .refreshFailed: login.lease = nil
        case .refreshed(let session):
            login.lease = nil
            if session.sessionID == login.session.sessionID { login.session = session }
        case .rejected: return reject()
        }
        self.login = login
        return []
    }

    /// Whether an effect that was asked for some time ago is still to be performed.
    func stillWants(_ effect: DeviceEffect) -> Bool {
        switch effect {
        case .end(let end):
            cleanup.contains { $0.sessionID == end.sessionID && !$0.isRefused }
                || lost?.session.sessionID == end.sessionID
        case .keepKeys(let session): session == (login ?? lost)?.session.sessionID
        case .readPermission, .requestToken: login != nil
        case .readSettings: login != nil
        case .fetchProof: login.map { $0.proof == nil } ?? false
        case .save, .requestPermission, .register: next == [effect]
        }
    }

    /// The step in the place of one that is not wanted any more.
    func successors(of effect: DeviceEffect) -> [DeviceEffect] {
        switch effect {
        case .save, .requestPermission, .register: next
        default: []
        }
    }

    /// The next step of the enrollment as an effect. Settings change only after the proof is saved.
    private var next: [DeviceEffect] {
        guard lost == nil, let login, let step = login.enrollment.step else { return [] }
        switch step {
        case .readSettings: return [.readSettings]
        case .save(let preferences, let revision):
            if login.proof == nil { return [.fetchProof] }
            return [.save(preferences, revision: revision)]
        case .readPermission: return [.readPermission]
        case .requestPermission: return [.requestPermission]
        case .requestToken: return [.requestToken]
        case .register(let registration, let revision):
            if login.proof == nil { return [.fetchProof] }
            return [.register(registration, revision: revision)]
        }
    }
}

extension Enrollment {
    /// Takes in what the server has. A revision newer than the one that was written over confirms
    /// the choices when it holds them; being merely read or registered does not.
    mutating func confirm(_ settings: PushSettings) {
        // Answers may come out of order.
        if let confirmed, confirmed.revision > settings.revision { return }
        confirmed = settings
        guard let draft, let savedOver = draft.savedOver, settings.revision > savedOver else {
            return
        }
        if draft.changes.applied(to: settings.preferences) == settings.preferences {
            self.draft = nil
        }
    }

    /// Takes in that the server saved what was sent. Choices made meanwhile stay.
    mutating func saved(_ settings: PushSettings, _ sent: PushPreferences) {
        if let draft, draft.changes.applied(to: sent) == sent { self.draft = nil }
        draft?.trouble = nil
        draft?.savedOver = nil
        confirm(settings)
    }

    mutating func proofFailed(_ code: DeviceError.Code) {
        switch step {
        case .save: hold(save: code)
        case .register:
            registrationTrouble = code
            registering.isHeld = true
        default: break
        }
    }

    mutating func hold(save code: DeviceError.Code) {
        draft?.trouble = code
        draft?.attempt.isHeld = true
    }

    /// Whether it is to be tried over fresh settings.
    mutating func saveFailed(_ error: DeviceError) -> Bool {
        guard var draft else { return false }
        draft.savedOver = draft.savedOver ?? confirmed?.revision
        draft.trouble = error.code
        draft.attempt.stale += 1
        let again = error.code == .staleRevision && draft.attempt.stale < Attempt.staleLimit
        draft.attempt.isHeld = !again
        self.draft = draft
        return again
    }

    mutating func registered(_ settings: PushSettings, _ registration: Registration) {
        self.registration = registration
        registrationTrouble = nil
        registering = Attempt()
        guard confirmed.map({ $0.revision <= settings.revision }) ?? true else { return }
        confirmed = settings
    }

    /// Whether it is to be tried over fresh settings.
    mutating func registerFailed(_ error: DeviceError) -> Bool {
        registering.stale += 1
        if error.code == .staleRevision, registering.stale < Attempt.staleLimit { return true }
        registrationTrouble = error.code
        registering.isHeld = true
        return false
    }
}
