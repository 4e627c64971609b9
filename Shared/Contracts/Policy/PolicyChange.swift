/// `event.admin.policy.change.v1`: puts and removes policy items, all of them or none.
package struct PolicyChange: BusRequest, Hashable {
    package typealias Answer = PolicyChangeAnswer
    package static let type = "event.admin.policy.change.v1"

    /// Who asks for it, as that person's tool says; the peer's principal is recorded too.
    package var by: String
    /// Items that are added, or take the place of those with the same kind and id.
    package var put: [PolicyItem]
    package var remove: [PolicyKey]

    package init(by: String, put: [PolicyItem] = [], remove: [PolicyKey] = []) {
        self.by = by
        self.put = put
        self.remove = remove
    }

    package func checkBounds() throws(ContractViolation) {
        try PolicyBounds.identifier(by, "/by")
        try ContractViolation.check(
            (1...BusLimits.records).contains(put.count + remove.count),
            "/put",
            "must hold 1 to \(BusLimits.records) changes, together with remove"
        )
        for (index, item) in put.enumerated() {
            do throws(ContractViolation) { try item.checkBounds() } catch {
                throw error.under("/put/\(index)")
            }
        }
        for (index, key) in remove.enumerated() {
            try PolicyBounds.identifier(key.id, "/remove/\(index)/id")
        }
        let keys = put.compactMap(\.key) + remove
        try ContractViolation.check(
            Set(keys).count == keys.count,
            "/put",
            "must name each item once, together with remove"
        )
    }
}

package struct PolicyChangeAnswer: BusMessage, Hashable {
    package static let type = "event.admin.policy.change.answer.v1"

    /// How many items are different from before.
    package var changed: Int64
    /// Events that were not admitted yet and never will be, because their integrator may no longer
    /// publish them.
    package var cancelled: Int64

    package init(changed: Int64, cancelled: Int64) {
        self.changed = changed
        self.cancelled = cancelled
    }
}
