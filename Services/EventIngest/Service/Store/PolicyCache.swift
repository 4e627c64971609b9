import Contracts
import EventIngestCore
import Loop
import Storage

/// The policy as it was last read, kept for as long as nobody changes it.
///
/// The number of the last change names a state of the policy: it is read in the same transaction,
/// and a failed write, which could give a number away twice, empties the cache.
final class PolicyCache: Sendable {
    private struct State {
        var number: Int64
        var policy: Policy
    }

    private let state = Locked<State?>(nil)

    func forget() { state.withLock { $0 = nil } }

    /// The number of the last change.
    static func state(_ connection: some SQLConnection) throws -> Int64 {
        try connection.first("SELECT max(number) FROM audit") { $0.intOrNil(0) ?? 0 } ?? 0
    }

    /// The policy that is in force in the transaction of `connection`.
    func policy(_ connection: some SQLConnection) throws -> Policy {
        let current = try Self.state(connection)
        if let known = state.withLock({ $0 }), known.number == current { return known.policy }
        let items = try connection.query("SELECT body FROM policy ORDER BY kind, id") { row in
            try PolicyItem.stored(row.blob(0))
        }
        var policy = Policy(items)
        let removed = try connection.query(
            "SELECT DISTINCT id FROM audit WHERE kind = $1 AND body IS NULL",
            [.text(PolicyKind.integrator.rawValue)]
        ) { $0.text(0) }
        policy.removedIntegrators = Set(removed).subtracting(policy.integrators.keys)
        state.withLock { $0 = State(number: current, policy: policy) }
        return policy
    }
}
