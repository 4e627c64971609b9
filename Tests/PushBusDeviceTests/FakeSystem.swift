import Contracts
import Loop
import PushBusDevice
import TestKit

/// The phone's own system: permission, token, lookups, network.
final class FakeSystem: NotificationPermission, DeviceTokenSource, TargetLookup, Connectivity {
    struct State: Sendable {
        var permission = PermissionStatus.notAsked
        var answerWhenAsked = PermissionStatus.granted
        var asked = 0
        var token: String? = "00ff"
        var tokensAsked = 0
        var target: TargetAnswer?
        var looked: [TapTarget.Destination] = []
    }

    let state = Locked(State())
    let network = BoundedChannel<Bool>(capacity: 4)

    func status() async -> PermissionStatus { state.withLock { $0.permission } }

    func request() async -> PermissionStatus {
        state.withLock { state in
            state.asked += 1
            if state.permission == .notAsked { state.permission = state.answerWhenAsked }
            return state.permission
        }
    }

    func token() async throws(DeviceTokenFailure) -> IssuedToken {
        let text = state.withLock { state -> String? in
            state.tokensAsked += 1
            return state.token
        }
        guard let text, let token = DeviceToken(text) else { throw DeviceTokenFailure("none") }
        return IssuedToken(token: token, environment: .sandbox)
    }

    func look(for destination: TapTarget.Destination) async -> TargetAnswer {
        state.withLock { state in
            state.looked.append(destination)
            return state.target ?? .available(destination)
        }
    }

    func recovered() async -> Bool { await network.next() ?? false }
}
