import Contracts
import Testing

@testable import PushBusDevice

/// What is held against everything that happens.
extension RandomLife {
    mutating func send(_ event: DeviceEvent) {
        let before = state
        do throws(DeviceError) {
            let effects = try state.handle(event, at: now)
            seen.insert(Self.name(event))
            note(event)
            checkState(before, event)
            for effect in effects {
                check(effect)
                asked.append(Asked(effect: effect, generation: state.generation))
            }
        } catch {
            #expect(state == before, "a refused event changed something")
        }
    }

    private static func name(_ event: DeviceEvent) -> String {
        String("\(event)".prefix { $0 != "(" })
    }

    private mutating func note(_ event: DeviceEvent) {
        guard let login = state.login else { return }
        if case .disclosureShown = event { disclosed.insert(login.session.sessionID) }
        if login.enrollment.confirmed?.preferences.enabled == true {
            confirmed.insert(login.session.sessionID)
        }
    }

    /// What never happens to the state, whatever happens.
    private func checkState(_ before: DeviceState, _ event: DeviceEvent) {
        // A login goes only to where it can be ended from.
        if let login = before.login, state.login?.session.sessionID != login.session.sessionID {
            let end = state.cleanup.first { $0.sessionID == login.session.sessionID }
            let isProven = end?.proof != nil && end?.proof == login.proof
            let isLost = state.lost == login
            #expect(isProven != isLost, "credentials were cleared without a proof")
            #expect(state.generation > before.generation)
        }
        // One account at a time, and nothing beside a lost one.
        #expect(state.login == nil || state.lost == nil)
        #expect(state.cleanup.count <= DeviceState.cleanupLimit)
        // Records go only when the server said that the session is over.
        for end in before.cleanup
        where !state.cleanup.contains(where: { $0.sessionID == end.sessionID }) {
            #expect(isEnd(event, of: end.sessionID), "a record went by \(event)")
        }
        if let lost = before.lost, state.lost != lost {
            #expect(state.lost == nil && isEnd(event, of: lost.session.sessionID))
        }
        // Late answers change nothing.
        if case .answered(_, let generation) = event, generation != before.generation {
            #expect(state == before)
        }
        // Choices go only when they are saved, confirmed or left with the login.
        if let draft = before.login?.enrollment.draft,
            let login = state.login, login.session == before.login?.session,
            login.enrollment.draft == nil
        {
            switch event {
            case .answered(.saved(.success, _), _): break
            case .answered(.settings(.success(let settings)), _):
                #expect(settings.revision > draft.savedOver ?? .max)
                #expect(draft.changes.applied(to: settings.preferences) == settings.preferences)
            default: Issue.record("choices went by \(event)")
            }
        }
    }

    private func isEnd(_ event: DeviceEvent, of session: SessionID) -> Bool {
        switch event {
        case .ended(session, .success), .recovered(session): true
        case .listed(session, let present): !present.contains(session)
        default: false
        }
    }

    /// What is never asked for.
    private func check(_ effect: DeviceEffect) {
        let login = state.login
        if effect.needsLogin { #expect(login != nil && state.lost == nil) }
        let session = login?.session.sessionID ?? SessionID("")
        switch effect {
        case .requestPermission, .requestToken:
            #expect(disclosed.contains(session), "\(effect) before the disclosure")
            #expect(confirmed.contains(session), "\(effect) before the preferences")
            if effect == .requestToken { #expect(login?.enrollment.permission == .granted) }
        case .register(let registration, _):
            #expect(disclosed.contains(session) && confirmed.contains(session))
            #expect(login?.proof != nil && login?.enrollment.permission == .granted)
            #expect(registration.issued == login?.enrollment.issued)
        case .save(let preferences, _):
            #expect(login?.proof != nil, "settings change without a proof")
            let switchesOn = login?.enrollment.draft?.changes.enabled == true
            #expect(!switchesOn || !preferences.enabled || disclosed.contains(session))
        case .end(let end):
            // Evidence of the session itself, never of the login that is there.
            #expect(end.sessionID != login?.session.sessionID)
            #expect(!end.evidence.isEmpty)
        default: break
        }
    }
}
