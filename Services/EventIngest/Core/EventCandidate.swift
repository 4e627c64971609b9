import Contracts

/// A published event that is valid and waits for the store's decision.
package struct EventCandidate: Sendable {
    package var source: String
    package var id: String
    package var type: String
    package var contentHash: [UInt8]
    package var time: UnixMilliseconds?
    package var expirytime: UnixMilliseconds?
    package var traceparent: String?
    package var publisher = Publisher.trusted
    package var happening: Happening
    package var notification: Notification
    private var identity: EventIdentity

    /// Reads one element of a publish; the violation says where it is wrong and what to do.
    package init(
        _ value: JSONValue,
        identity: EventIdentity,
        decodeJSON: ([UInt8]) -> JSONValue?
    ) throws(ContractViolation) {
        let event = try ReceivedEvent(value, decodeJSON: decodeJSON)
        happening = try Happening(event)
        source = event.source
        id = event.id
        type = event.type
        contentHash = identity.contentHash(of: event)
        time = event.time
        expirytime = event.expirytime
        traceparent = event.traceparent
        notification = try Notification(happening, source: event.source, identity: identity)
        self.identity = identity
    }

    /// The identity of a further notification of an alert's cycle, by the second it happened in.
    package func repeatID(_ instant: UnixMilliseconds) -> EventID? {
        guard case .alert(let alert) = happening, alert.status == .firing else { return nil }
        return identity.repeatID(alertKey: alert.key, at: instant.second)
    }
}
