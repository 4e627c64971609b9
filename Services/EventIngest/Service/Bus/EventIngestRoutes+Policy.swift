import Bus
import Contracts
import EventIngestCore
import ServiceKit

extension EventIngestRoutes {
    /// What operators ask about the policy, and how they change it.
    func addPolicy(to routes: inout BusRoutes) {
        routes.answer(PolicyChange.self) { (change, bus) throws(Reject) in
            try await apply(change, from: bus.peer)
        }
        routes.answer(PolicyQuery.self) { (query, _) throws(Reject) in
            try await stored { try await store.policy(query) }
        }
        routes.answer(AuditQuery.self) { (query, _) throws(Reject) in
            try await stored { try await store.audit(query) }
        }
    }

    private func apply(
        _ change: PolicyChange,
        from peer: BusPeer
    ) async throws(Reject) -> PolicyChangeAnswer {
        let now = context.time.wall.second
        for (index, item) in change.put.enumerated() {
            do throws(ContractViolation) {
                try item.check(now: now, zones: rulings.zones)
            } catch {
                let violation = error.under("/put/\(index)")
                throw Reject(.malformed, violation.reason, pointer: violation.pointer)
            }
        }
        let person =
            peer.principal == BusPeer.local.principal
            ? change.by : "\(change.by) (\(peer.principal))"
        let answer = try await stored {
            let answer = try await store.change(change, by: person)
            keys.replace(try await store.integrators())
            return answer
        }
        context.log.info(
            "policy changed",
            [
                "by": .string(person), "changed": .text(answer.changed),
                "cancelled": .text(answer.cancelled),
            ]
        )
        return answer
    }
}
