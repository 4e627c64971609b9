import Contracts

/// What a phone's Notification Service Extension does with a push that lets it run.
enum ServiceExtension: String, Sendable, Codable {
    /// It puts its own text in place.
    case decrypts
    /// It never answers, so that the system shows the original text after 30 seconds.
    case timesOut = "times_out"
    /// The app has none.
    case absent
}

/// One token: the app on one phone.
struct Device: Sendable {
    /// Topics with a kept notification of their own; beyond it the oldest goes.
    static let maximumStored = 16
    /// APNs keeps a notification no longer than this.
    static let storedMilliseconds: Int64 = 30 * 86_400_000

    /// The app it was issued for; nil takes every topic.
    var topic: String?
    /// Set when the app was removed; sends then answer 410 with this time.
    var unregisteredAt: UnixMilliseconds?
    /// The reason of that 410.
    var deadReason = "Unregistered"
    var serviceExtension = ServiceExtension.decrypts
    /// Raised by every registration.
    var revision = 0
    /// Numbers of what it received, oldest first.
    var received: [UInt64] = []
    /// The one notification kept while no phone listens, by topic.
    var stored: [String: UInt64] = [:]
    var listeners: [UInt64: @Sendable (ReceivedNotification) -> Void] = [:]
    var lastUse: UInt64 = 0
    private var windowStart: Int64 = 0
    private var windowCount = 0

    /// Whether it may receive for that topic, and is not sent too much.
    mutating func admit(
        topic other: String,
        at now: UnixMilliseconds,
        limit: DeviceRegistry.RateLimit
    ) throws(APNsAnswer) {
        if let unregisteredAt { throw APNsAnswer(deadReason, timestamp: unregisteredAt) }
        if let topic, topic != other, !other.hasPrefix(topic + ".") {
            throw APNsAnswer("DeviceTokenNotForTopic")
        }
        guard limit.requests > 0 else { return }
        let end = windowStart + limit.windowMilliseconds
        if now.milliseconds >= end || now.milliseconds < windowStart {
            windowStart = now.milliseconds
            windowCount = 0
        }
        guard windowCount < limit.requests else { throw APNsAnswer("TooManyRequests") }
        windowCount += 1
    }

    /// Notes a notification and hands it to the phones that listen, or keeps it as the latest.
    mutating func take(_ notification: inout ReceivedNotification, keeps: Bool, oldest: UInt64) {
        lastUse = notification.number
        if keeps {
            received.append(notification.number)
            if received.count >= 64, received[received.count / 2] < oldest {
                received.removeAll { $0 < oldest }
            }
        }
        guard listeners.isEmpty else {
            notification.deliveredAt = notification.at
            for listener in listeners.values { listener(notification) }
            return
        }
        // Expiration 0 means one attempt, which just failed.
        guard notification.expiration != 0, keeps else { return }
        if stored.count >= Self.maximumStored, stored[notification.topic] == nil,
            let quietest = stored.min(by: { $0.value < $1.value })
        {
            stored[quietest.key] = nil
        }
        stored[notification.topic] = notification.number
    }
}

extension ReceivedNotification {
    /// Whether APNs still keeps it for a phone that is away.
    func isKept(at now: UnixMilliseconds) -> Bool {
        if let expiration, expiration <= now.second.seconds { return false }
        return now.milliseconds < at.milliseconds + Device.storedMilliseconds
    }
}
