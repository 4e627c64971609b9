import Contracts
import HTTP2
import Loop
import ServiceKit

/// What the hosts, the control API and the phones share: one lock over all of it.
final class SimulatorState: Sendable {
    struct Content: Sendable {
        var settings = SimulatorSettings() {
            didSet { applySettings(before: oldValue) }
        }
        var registry: DeviceRegistry
        var verifier = ProviderTokenVerifier()
        var scripts: [DeviceRegistry.Key: ScriptQueue] = [:]
        /// For requests whose token has no script of its own.
        var commonScript = ScriptQueue([])
        var clock: SimulatedClock
        var statistics = SimulatorStatistics()
        var connectionRate = ConnectionRate()
        /// What is left to chance, by the seed of the settings.
        var random = RandomSource.seeded(1)
        var nextID: MessageID

        private mutating func applySettings(before: SimulatorSettings) {
            verifier.isLenient = settings.takesLenientTokens
            registry.rejectsUnknown = settings.rejectsUnknownTokens
            registry.limit = DeviceRegistry.RateLimit(
                requests: settings.requestsPerToken,
                windowMilliseconds: Int64(settings.tokenWindowMilliseconds)
            )
            if settings.seed != before.seed {
                random = .seeded(UInt64(bitPattern: Int64(settings.seed)))
            }
        }

        /// The simulator's time.
        var now: UnixMilliseconds { clock.now }

        /// A UUID, unique in this process and random between processes.
        mutating func makeID() -> MessageID {
            nextID.low = (nextID.low &+ 1) & ~(3 << 62) | 2 << 62
            return nextID
        }
    }

    let content: Locked<Content>
    /// Tells the runs of a simulator apart; its notifications are numbered anew in each.
    let run: String

    init(
        keptNotifications: Int,
        maximumDevices: Int,
        time: any TimeSource,
        random: RandomSource
    ) {
        run = Hex.encode(random.bytes(8))
        content = Locked(
            Content(
                registry: DeviceRegistry(
                    keptNotifications: keptNotifications,
                    maximumDevices: maximumDevices
                ),
                clock: SimulatedClock(time: time),
                nextID: MessageID(high: random.next() & ~0xF000 | 0x4000, low: random.next())
            )
        )
    }

    var now: UnixMilliseconds { content.withLock { $0.now } }

    /// Whether a peer that just connected is served.
    func admitsConnection() -> Bool {
        content.withLock { content in
            let isAdmitted = content.connectionRate.admits(
                at: content.now,
                perMinute: content.settings.connectionsPerMinute,
                blockMilliseconds: Int64(content.settings.connectionBlockMilliseconds)
            )
            if !isAdmitted { content.statistics.refusedConnections += 1 }
            return isAdmitted
        }
    }
}

/// The simulator's clock: the real one, moved, or standing still.
struct SimulatedClock: Sendable {
    private let time: any TimeSource
    private var offsetMilliseconds: Int64 = 0
    private var frozenAt: UnixMilliseconds?

    init(time: any TimeSource) { self.time = time }

    var isFrozen: Bool { frozenAt != nil }

    var now: UnixMilliseconds {
        frozenAt ?? time.wall.adding(milliseconds: offsetMilliseconds)
    }

    /// Goes to a moment, onwards or back; false when that is beyond what a clock can show.
    mutating func move(to new: UnixMilliseconds) -> Bool {
        // The years 1970 to about 5138, which leaves room for every sum of the rules.
        guard (0...100_000_000_000_000).contains(new.milliseconds) else { return false }
        if frozenAt != nil { frozenAt = new }
        offsetMilliseconds = new.milliseconds - time.wall.milliseconds
        return true
    }

    /// Stops the clock where it is, or lets it go on from there.
    mutating func freeze(_ isFrozen: Bool) {
        let moment = now
        frozenAt = isFrozen ? moment : nil
        offsetMilliseconds = moment.milliseconds - time.wall.milliseconds
    }

    /// The real time again.
    mutating func reset() { self = SimulatedClock(time: time) }
}

/// How often peers connect; too often is taken for an attack.
struct ConnectionRate: Sendable {
    private var windowStart: Int64 = 0
    private var count = 0
    private var blockedUntil: Int64 = 0

    /// Counts a connection, and whether it is let in.
    mutating func admits(
        at now: UnixMilliseconds,
        perMinute limit: Int,
        blockMilliseconds: Int64
    ) -> Bool {
        guard limit > 0 else { return true }
        let now = now.milliseconds
        guard now >= blockedUntil else { return false }
        if now >= windowStart + 60_000 || now < windowStart {
            windowStart = now
            count = 0
        }
        count += 1
        guard count > limit else { return true }
        blockedUntil = now + blockMilliseconds
        windowStart = blockedUntil
        count = 0
        return false
    }
}

/// Counts since the start.
struct SimulatorStatistics: Sendable {
    /// Kinds of answers that are told apart; scripts can make up any number.
    static let maximumKinds = 1_000

    var requests = 0
    var connections = 0
    var refusedConnections = 0
    var accepted = 0
    /// All but the accepted ones, by status and reason, `400 BadDeviceToken`; scripted ones included.
    private(set) var refusals: [String: Int] = [:]
    var resets = 0
    var goAways = 0
    var silences = 0

    mutating func count(_ answer: APNsAnswer) {
        guard answer.status != 200 else {
            accepted += 1
            return
        }
        let kind = "\(answer.status) \(answer.reason ?? "-")"
        let isKnown = refusals[kind] != nil || refusals.count < Self.maximumKinds
        refusals[isKnown ? kind : "others", default: 0] += 1
    }
}
