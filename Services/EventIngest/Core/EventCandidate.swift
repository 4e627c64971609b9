import Contracts

/// A published event that is valid and waits for the store's decision.
package struct EventCandidate: Hashable, Sendable {
    package var source: String
    package var id: String
    package var contentHash: [UInt8]
    package var time: UnixMilliseconds?
    package var expirytime: UnixMilliseconds?
    package var traceparent: String?
    package var notification: Notification

    /// Reads one element of a publish; the violation says where it is wrong and what to do.
    package init(
        _ value: JSONValue,
        identity: EventIdentity,
        decodeJSON: ([UInt8]) -> JSONValue?
    ) throws(ContractViolation) {
        let event = try ReceivedEvent(value, decodeJSON: decodeJSON)
        let happening = try Happening(event)
        source = event.source
        id = event.id
        contentHash = identity.contentHash(of: event)
        time = event.time
        expirytime = event.expirytime
        traceparent = event.traceparent
        notification = try Notification(happening, identity: identity)
    }
}
