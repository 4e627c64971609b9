import Contracts
import EventIngestCore
import Loop
import PushBusCrypto

/// Which integrator a bearer key belongs to; answers before anything of a request's body is read.
///
/// It says who somebody is and no more: what they may publish is decided in the transaction that
/// records an event.
package final class IntegratorKeys: Sendable {
    private struct Table {
        var state: Int64 = -1
        var owners: [[UInt8]: String] = [:]
    }

    private let table = Locked(Table())

    package init() {}

    /// Takes the integrators that are in force, unless it has taken later ones before.
    package func replace(_ inForce: IntegratorsInForce) {
        var owners: [[UInt8]: String] = [:]
        for integrator in inForce.integrators where integrator.isEnabled {
            for hash in integrator.keyHashes { owners[Array(hash.utf8)] = integrator.id }
        }
        let new = Table(state: inForce.state, owners: owners)
        table.withLock { if new.state >= $0.state { $0 = new } }
    }

    /// The integrator whose key this is. The table is looked up by the key's hash, so the time it
    /// takes says nothing about the key.
    package func owner(of key: String) -> String? {
        let hash = Array(SHA256.hex(Array(key.utf8)).utf8)
        return table.withLock { $0.owners[hash] }
    }
}
