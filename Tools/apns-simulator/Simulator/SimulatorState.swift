import Contracts
import HTTP2
import Loop
import ServiceKit
import Synchronization

/// What the hosts, the control API and the phones share: one lock over all of it.
final class SimulatorState: Sendable {
    struct Content: Sendable {
        var settings = SimulatorSettings()
        var registry: DeviceRegistry
        var verifier: ProviderTokenVerifier
        var scripts: [DeviceRegistry.Key: ScriptQueue] = [:]
        /// For requests whose token has no script of its own.
        var commonScript = ScriptQueue([])
        /// Moves the simulator's clock against the real one.
        var clockOffsetMilliseconds: Int64 = 0
        var statistics = SimulatorStatistics()
    }

    let content: Locked<Content>
    /// Tells the runs of a simulator apart; its notifications are numbered anew in each.
    let run: String
    private let time: any TimeSource
    private let idStart: (high: UInt64, low: UInt64)
    private let idCount = Atomic<UInt64>(0)

    init(
        keys: [String: ProviderKey],
        keptNotifications: Int,
        maximumDevices: Int,
        time: any TimeSource,
        random: RandomSource
    ) {
        self.time = time
        run = Hex.encode(random.bytes(8))
        idStart = (random.next(), random.next())
        content = Locked(
            Content(
                registry: DeviceRegistry(
                    keptNotifications: keptNotifications,
                    maximumDevices: maximumDevices
                ),
                verifier: ProviderTokenVerifier(keys: keys)
            )
        )
    }

    /// The simulator's time.
    func now(_ content: Content) -> UnixMilliseconds {
        time.wall.adding(milliseconds: content.clockOffsetMilliseconds)
    }

    var now: UnixMilliseconds {
        let offset = content.withLock { $0.clockOffsetMilliseconds }
        return time.wall.adding(milliseconds: offset)
    }

    /// A UUID in lowercase, unique in this process and random between processes.
    func makeID() -> String {
        let count = idCount.wrappingAdd(1, ordering: .relaxed).newValue
        let high = idStart.high & ~0xF000 | 0x4000
        let low = (idStart.low &+ count) & ~(3 << 62) | 2 << 62
        let digits = Array("0123456789abcdef".utf8)
        return String(unsafeUninitializedCapacity: 36) { text in
            var place = 0
            for index in 0..<32 {
                if index == 8 || index == 12 || index == 16 || index == 20 {
                    text[place] = UInt8(ascii: "-")
                    place += 1
                }
                let word = index < 16 ? high : low
                text[place] = digits[Int(word >> UInt64(60 - 4 * (index % 16)) & 15)]
                place += 1
            }
            return 36
        }
    }
}

/// Counts since the start.
struct SimulatorStatistics: Sendable {
    var requests = 0
    var connections = 0
    /// By status and reason, `400 BadDeviceToken`; scripted ones included.
    var answers: [String: Int] = [:]
    var resets = 0
    var goAways = 0
    var silences = 0

    mutating func count(_ answer: APNsAnswer) {
        if answer.status == 200 {
            answers["200", default: 0] += 1
        } else {
            answers["\(answer.status) \(answer.reason ?? "-")", default: 0] += 1
        }
    }
}
