import Topology

extension PushBusService {
    /// How its name is written for people.
    var title: String {
        switch self {
        case .registration: "Registration"
        case .eventIngest: "EventIngest"
        case .fanout: "Fanout"
        case .delivery: "Delivery"
        case .relay: "Relay"
        }
    }
}
