/// The five services of PushBus.
package enum PushBusService: String, CaseIterable, Hashable, Sendable {
    case registration
    case eventIngest = "eventingest"
    case fanout
    case delivery
    case relay

    /// The name of its executable.
    package var executable: String {
        "pushbus-\(rawValue)"
    }

    /// How its settings begin, `PUSHBUS_DELIVERY_`.
    package var variablePrefix: String {
        "PUSHBUS_\(rawValue.uppercased())_"
    }

    /// The services it sends requests to.
    package var peers: [PushBusService] {
        switch self {
        case .registration: [.eventIngest, .delivery]
        case .eventIngest: [.registration, .fanout]
        case .fanout: [.eventIngest, .registration, .delivery]
        case .delivery: [.registration, .relay]
        case .relay: []
        }
    }

    /// Whether it keeps a store; one with a store runs as one process on SQLite.
    package var hasStore: Bool {
        switch self {
        case .registration, .eventIngest, .delivery: true
        case .fanout, .relay: false
        }
    }

    /// Whether it may run as several processes; Delivery only on PostgreSQL.
    package var mayBeSeveral: Bool {
        switch self {
        case .registration, .eventIngest: false
        case .fanout, .delivery, .relay: true
        }
    }

    /// Whether it listens for HTTP.
    package var hasHTTP: Bool {
        self == .registration || self == .relay
    }
}
