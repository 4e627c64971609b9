import Contracts

/// Decides in the app's foreground what is presented: one banner an event, however often the system
/// asks about it, and none for what is silent.
package struct ForegroundPresenter: Sendable {
    /// Most deliveries that are remembered.
    package static let limit = 64

    private var presented: [String] = []

    package init() {}

    /// Whether to present what the extension made of a delivery; `deliveryID` is the system's name of
    /// it (`apns-id`), which tells deliveries without a known event apart.
    package mutating func presents(_ opening: Opening, deliveryID: String) -> Bool {
        if case .silent = opening { return false }
        let name = opening.eventID?.description ?? "delivery \(deliveryID)"
        if presented.contains(name) { return false }
        presented.append(name)
        if presented.count > Self.limit { presented.removeFirst() }
        return true
    }
}
