import Contracts

/// Who publishes an event.
package enum Publisher: Hashable, Sendable {
    /// A process of the trusted directory, which may publish anything.
    case trusted
    /// The holder of a CURVE key; an integrator of that name narrows what it may publish,
    /// and once that is removed it may publish nothing.
    case principal(String)
    /// The holder of a bearer key, which may publish what its integrator says.
    case integrator(String)

    /// What it is recorded as; nil when nothing about it can ever be revoked.
    package var name: String? {
        switch self {
        case .trusted: nil
        case .principal(let name), .integrator(let name): name
        }
    }
}

extension Policy {
    /// Whether the policy in force lets a publisher publish an event of this source and type.
    package func permits(_ publisher: Publisher, type: String, source: String) -> Bool {
        switch publisher {
        case .trusted: true
        case .principal(let name):
            integrators[name]?.may(publish: type, from: source)
                ?? !removedIntegrators.contains(name)
        case .integrator(let name):
            integrators[name]?.may(publish: type, from: source) ?? false
        }
    }
}
