/// The services that answer on the bus, in the order of an event's path.
enum BusService: String, CaseIterable {
    case registration
    case eventingest
    case fanout
    case delivery
    case relay

    /// How its name is written for people.
    var title: String {
        switch self {
        case .registration: "Registration"
        case .eventingest: "EventIngest"
        case .fanout: "Fanout"
        case .delivery: "Delivery"
        case .relay: "Relay"
        }
    }

    /// The name of its socket in the directory of the bus.
    var socket: String { "\(rawValue).sock" }
}
