import Contracts
import RelayCore

/// One message on its way to APNs.
struct PushJob: Sendable {
    let id: UInt64
    let push: Push
    /// On the monotonic clock; by then the message has its verdict.
    let deadline: Int64
    /// The batch it came with, and its place in it.
    let batch: UInt64
    let place: Int
    /// Whether few came with it; such messages do not wait behind large batches.
    let isOfSmallBatch: Bool

    /// Only a connection opened after this one will do.
    var afterConnection = 0
    /// Only a connection with this token or a later one will do.
    var fromGeneration = 0
    /// Each kind of second try happens once.
    var hasRetriedServer = false
    var hasRenewedToken = false
    var hasChangedConnection = false
    /// Times that APNs provably did not process it.
    var refusals = 0
    /// Whether its device takes one message at a time, and this one is it.
    var isInSingleFile = false
    /// Whether a breaker lets it through to find out.
    var isProbe = false
    /// What an earlier try ended with, if there was one.
    var lastVerdict: RelayVerdict?
}

/// What is sent for one message; ready to be written.
///
/// An object, since it goes from list to list on its way and holds much.
package final class Push: Sendable {
    package let deviceToken: DeviceToken
    package let apnsID: String
    package let collapseID: String
    package let expiresAt: UnixSeconds
    package let payload: [UInt8]
    /// Goes over the connection for bindings younger than a day.
    package let isYoung: Bool

    package init(
        deviceToken: DeviceToken,
        apnsID: String,
        collapseID: String,
        expiresAt: UnixSeconds,
        payload: [UInt8],
        isYoung: Bool
    ) {
        self.deviceToken = deviceToken
        self.apnsID = apnsID
        self.collapseID = collapseID
        self.expiresAt = expiresAt
        self.payload = payload
        self.isYoung = isYoung
    }
}
