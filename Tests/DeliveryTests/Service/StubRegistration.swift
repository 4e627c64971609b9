import Bus
import Contracts
import DeliveryService
import ServiceKit
import TestKit

/// A Registration that says what the test wants.
final class StubRegistration: Sendable {
    struct State: Sendable {
        var ineligible: [InstallationID: IneligibleReason] = [:]
        /// Bindings younger than a day.
        var young: Set<InstallationID> = []
        /// Questions that are refused from now on.
        var refusedChecks = 0
        var refusedCleanups = 0
        var checks: [EligibilityCheck.Check] = []
        var refused = 0
        var cleanups: [RegistrationCleanup] = []
    }

    let state = Observed(State())

    static let confirmedAt = UnixMilliseconds(1_700_000_000_000)

    static func token(_ installation: InstallationID) -> DeviceToken? {
        DeviceToken(installation.text.utf8.map { $0 & 15 < 10 ? "\($0 & 15)0" : "ab" }.joined())
    }

    func routes() -> BusRoutes {
        var routes = BusRoutes()
        routes.answer(EligibilityCheck.self) { [state] question, _ throws(Reject) in
            let mayAnswer = state.value.refusedChecks == 0
            state.update {
                $0.checks += question.checks
                if !mayAnswer {
                    $0.refusedChecks -= 1
                    $0.refused += 1
                }
            }
            guard mayAnswer else { throw Reject(.failed, "not now") }
            let (ineligible, young) = (state.value.ineligible, state.value.young)
            return EligibilityCheckAnswer(
                verdicts: question.checks.map { check in
                    if let reason = ineligible[check.installationID] { return .ineligible(reason) }
                    guard let token = Self.token(check.installationID) else {
                        return .ineligible(.notRegistered)
                    }
                    return .eligible(
                        .init(
                            deviceToken: token,
                            environment: .sandbox,
                            confirmedAt: Self.confirmedAt,
                            isYoung: young.contains(check.installationID)
                        )
                    )
                }
            )
        }
        routes.answer(RegistrationCleanup.self) { [state] request, _ throws(Reject) in
            let mayAnswer = state.value.refusedCleanups == 0
            state.update {
                $0.cleanups.append(request)
                if !mayAnswer { $0.refusedCleanups -= 1 }
            }
            guard mayAnswer else { throw Reject(.failed, "not now") }
            return RegistrationCleanupAnswer(results: request.items.map { _ in .applied })
        }
        return routes
    }
}
