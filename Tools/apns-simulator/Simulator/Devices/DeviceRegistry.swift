import Contracts

/// The tokens that the simulator knows, what each received, and who listens.
///
/// Bounded: the oldest notifications are forgotten first, and beyond the number of devices the one
/// that was quiet longest.
struct DeviceRegistry: Sendable {
    /// A token belongs to one environment.
    struct Key: Hashable, Sendable {
        var environment: APNsEnvironment
        var token: String
    }

    struct Device: Sendable {
        /// The app it was issued for; nil takes every topic.
        var topic: String?
        /// Set when the app was removed; sends then answer 410 with this time.
        var unregisteredAt: UnixMilliseconds?
        /// Raised by every registration.
        var revision = 0
        /// Numbers of what it received, oldest first.
        var received: [UInt64] = []
        /// The one notification kept while no phone listens, by topic.
        var stored: [String: UInt64] = [:]
        var listeners: [UInt64: @Sendable (ReceivedNotification) -> Void] = [:]
        var lastUse: UInt64 = 0
    }

    /// Notifications kept over all devices, 0 keeps none.
    let keptNotifications: Int
    let maximumDevices: Int
    /// Answers BadDeviceToken for tokens that were never registered.
    var rejectsUnknown = false

    private(set) var devices: [Key: Device] = [:]
    private var ring: [ReceivedNotification?]
    private(set) var nextNumber: UInt64 = 1
    private var nextListener: UInt64 = 1

    init(keptNotifications: Int, maximumDevices: Int) {
        self.keptNotifications = keptNotifications
        self.maximumDevices = maximumDevices
        ring = Array(repeating: nil, count: keptNotifications)
    }

    // MARK: Registration

    /// Issues or renews a token; a dead one lives again.
    mutating func register(_ key: Key, topic: String?) -> Device {
        var device = devices[key] ?? Device()
        device.topic = topic
        device.unregisteredAt = nil
        device.revision += 1
        device.lastUse = nextNumber
        makeRoom(for: key)
        devices[key] = device
        return device
    }

    /// The app was removed from the phone.
    mutating func unregister(_ key: Key, at time: UnixMilliseconds) {
        makeRoom(for: key)
        devices[key, default: Device()].unregisteredAt = time
        devices[key]?.stored = [:]
    }

    mutating func removeAll() { devices = [:] }

    private mutating func makeRoom(for key: Key) {
        guard devices[key] == nil, devices.count >= maximumDevices else { return }
        let quietest = devices.filter { $0.value.listeners.isEmpty }
            .min { $0.value.lastUse < $1.value.lastUse }
        if let quietest { devices[quietest.key] = nil }
    }

    // MARK: Sending

    /// Whether the token may receive for that topic.
    func check(_ key: Key, topic: String) throws(APNsAnswer) {
        guard let device = devices[key] else {
            let other: APNsEnvironment = key.environment == .sandbox ? .production : .sandbox
            let isElsewhere = devices[Key(environment: other, token: key.token)] != nil
            if rejectsUnknown || isElsewhere { throw APNsAnswer("BadDeviceToken") }
            return
        }
        if let time = device.unregisteredAt { throw APNsAnswer("Unregistered", timestamp: time) }
        if let own = device.topic, own != topic, !topic.hasPrefix(own + ".") {
            throw APNsAnswer("DeviceTokenNotForTopic")
        }
    }

    /// Takes an accepted notification: hands it to the phones that listen, or keeps the latest one.
    mutating func deliver(_ notification: ReceivedNotification) {
        let key = Key(environment: notification.environment, token: notification.token)
        var notification = notification
        notification.number = nextNumber
        nextNumber += 1
        makeRoom(for: key)
        let oldest = oldestKept
        let keeps = keptNotifications > 0
        // In place: a copy of the device would copy its lists.
        devices[key, default: Device()].take(&notification, keeps: keeps, oldest: oldest)
        if keeps { ring[Int(notification.number % UInt64(keptNotifications))] = notification }
    }

    private var oldestKept: UInt64 {
        nextNumber > UInt64(keptNotifications) ? nextNumber - UInt64(keptNotifications) : 1
    }

    private func kept(_ number: UInt64) -> ReceivedNotification? {
        guard keptNotifications > 0 else { return nil }
        let entry = ring[Int(number % UInt64(keptNotifications))]
        return entry?.number == number ? entry : nil
    }

    // MARK: Looking and listening

    /// What a token received after a number, oldest first.
    func received(_ key: Key, after number: UInt64) -> [ReceivedNotification] {
        (devices[key]?.received ?? []).filter { $0 > number }.compactMap(kept)
    }

    /// A phone begins to listen; what was kept for it and has not expired comes at once.
    mutating func listen(
        _ key: Key,
        nowSeconds: Int64,
        _ body: @escaping @Sendable (ReceivedNotification) -> Void
    ) -> UInt64 {
        makeRoom(for: key)
        var device = devices.removeValue(forKey: key) ?? Device()
        let id = nextListener
        nextListener += 1
        device.listeners[id] = body
        for number in device.stored.values.sorted() {
            guard var notification = kept(number) else { continue }
            if let expiration = notification.expiration, expiration <= nowSeconds { continue }
            notification.isDelivered = true
            ring[Int(number % UInt64(keptNotifications))] = notification
            body(notification)
        }
        device.stored = [:]
        devices[key] = device
        return id
    }

    mutating func stopListening(_ key: Key, _ id: UInt64) {
        devices[key]?.listeners[id] = nil
    }
}

extension DeviceRegistry.Device {
    /// Notes a notification and hands it to the phones that listen, or keeps it as the latest.
    fileprivate mutating func take(
        _ notification: inout ReceivedNotification,
        keeps: Bool,
        oldest: UInt64
    ) {
        notification.isDelivered = !listeners.isEmpty
        lastUse = notification.number
        if keeps {
            received.append(notification.number)
            if received.count >= 64, received[received.count / 2] < oldest {
                received.removeAll { $0 < oldest }
            }
        }
        if listeners.isEmpty {
            // Expiration 0 means one attempt, which just failed.
            if notification.expiration != 0, keeps {
                stored[notification.topic] = notification.number
            }
        } else {
            for listener in listeners.values { listener(notification) }
        }
    }
}
