import Contracts

/// The tokens that the simulator knows, what each received, and who listens.
///
/// Bounded: the oldest notifications are forgotten first, and beyond the number of devices those
/// that were quiet longest.
struct DeviceRegistry: Sendable {
    /// A token belongs to one environment.
    struct Key: Hashable, Sendable {
        var environment: APNsEnvironment
        var token: String
    }

    /// How much one token may be sent before `TooManyRequests`; 0 requests is no limit.
    struct RateLimit: Sendable, Hashable {
        var requests = 0
        var windowMilliseconds: Int64 = 1_000
    }

    /// Notifications kept over all devices, 0 keeps none.
    let keptNotifications: Int
    let maximumDevices: Int
    /// Answers BadDeviceToken for tokens that were never registered.
    var rejectsUnknown = false
    var limit = RateLimit()

    private(set) var devices: [Key: Device] = [:]
    /// Grows to its full size, then each new one takes the place of the oldest.
    private var ring: [ReceivedNotification] = []
    private(set) var nextNumber: UInt64 = 1
    private var nextListener: UInt64 = 1

    init(keptNotifications: Int, maximumDevices: Int) {
        self.keptNotifications = keptNotifications
        self.maximumDevices = max(1, maximumDevices)
    }

    // MARK: Registration

    /// Issues or renews a token; a dead one lives again.
    mutating func register(
        _ key: Key,
        topic: String?,
        serviceExtension: ServiceExtension?
    ) -> Device {
        makeRoom(for: key)
        var device = devices[key] ?? Device()
        device.topic = topic
        device.unregisteredAt = nil
        if let serviceExtension { device.serviceExtension = serviceExtension }
        device.revision += 1
        device.lastUse = nextNumber
        devices[key] = device
        return device
    }

    /// The app was removed from the phone.
    mutating func unregister(_ key: Key, at time: UnixMilliseconds, reason: String) {
        makeRoom(for: key)
        devices[key, default: Device()].unregisteredAt = time
        devices[key]?.deadReason = reason
        devices[key]?.stored = [:]
    }

    mutating func removeAll() { devices = [:] }

    /// When it is full, the tenth that was quiet longest goes, so that room is seldom made.
    private mutating func makeRoom(for key: Key) {
        guard devices.count >= maximumDevices, devices[key] == nil else { return }
        let quiet = devices.filter { $0.value.listeners.isEmpty }
        let uses = quiet.values.map(\.lastUse).sorted()
        guard !uses.isEmpty else { return }
        let last = uses[(uses.count - 1) / 10]
        for (key, device) in quiet where device.lastUse <= last { devices[key] = nil }
    }

    // MARK: Sending

    /// Takes a notification, if its token may receive it: hands it to the phones that listen, or
    /// keeps the latest one. Its payload is exchanged for one that is kept no longer.
    mutating func accept(
        _ notification: consuming ReceivedNotification,
        payload: inout [UInt8]
    ) throws(APNsAnswer) {
        notification.number = nextNumber
        let oldest = oldestKept
        let keeps = keptNotifications > 0
        let key = notification.device
        // In place and with one search for the token: a copy of the device would copy its lists.
        if let index = devices.index(forKey: key) {
            try devices.values[index].admit(
                topic: notification.topic,
                at: notification.at,
                limit: limit
            )
            swap(&notification.payload, &payload)
            devices.values[index].take(&notification, keeps: keeps, oldest: oldest)
        } else {
            var other = key
            other.environment = key.environment == .sandbox ? .production : .sandbox
            if rejectsUnknown || devices[other] != nil { throw APNsAnswer("BadDeviceToken") }
            var device = Device()
            try device.admit(topic: notification.topic, at: notification.at, limit: limit)
            swap(&notification.payload, &payload)
            device.take(&notification, keeps: keeps, oldest: oldest)
            makeRoom(for: key)
            devices[key] = device
        }
        nextNumber += 1
        guard keeps else {
            swap(&notification.payload, &payload)
            return
        }
        let place = place(of: notification.number)
        if place == ring.count {
            ring.append(notification)
        } else {
            swap(&ring[place], &notification)
            swap(&notification.payload, &payload)
        }
    }

    private var oldestKept: UInt64 {
        nextNumber > UInt64(keptNotifications) ? nextNumber - UInt64(keptNotifications) : 1
    }

    private func place(of number: UInt64) -> Int {
        Int((number - 1) % UInt64(keptNotifications))
    }

    private func kept(_ number: UInt64) -> ReceivedNotification? {
        guard keptNotifications > 0 else { return nil }
        let place = place(of: number)
        guard place < ring.count, ring[place].number == number else { return nil }
        return ring[place]
    }

    // MARK: Looking and listening

    /// What a token received after a number, oldest first.
    func received(_ key: Key, after number: UInt64) -> [ReceivedNotification] {
        (devices[key]?.received ?? []).filter { $0 > number }.compactMap(kept)
    }

    /// A phone begins to listen; what was kept for it and has not expired comes at once.
    mutating func listen(
        _ key: Key,
        at now: UnixMilliseconds,
        _ body: @escaping @Sendable (ReceivedNotification) -> Void
    ) -> UInt64 {
        makeRoom(for: key)
        var device = devices.removeValue(forKey: key) ?? Device()
        let id = nextListener
        nextListener += 1
        device.listeners[id] = body
        for number in device.stored.values.sorted() {
            guard var notification = kept(number), notification.isKept(at: now) else { continue }
            notification.deliveredAt = now
            ring[place(of: number)] = notification
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
