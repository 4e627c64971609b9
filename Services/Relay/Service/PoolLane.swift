import HTTP2
import Loop
import RelayCore

/// Connections of one purpose and what waits for them.
struct PoolLane {
    /// Connections to keep at most, replacements under way not counted.
    let size: Int
    var queue = JobQueue()
    /// Messages that need a connection which does not exist yet.
    var held: [PushJob] = []
    var connections: [PoolConnection] = []
    /// Openings in a row that brought no success.
    var failures = 0
    /// Connections in a row that ended before they were worth their handshake.
    var shortLived = 0
    /// Ends of connections with a smaller serial number were counted together with one before.
    var countsFrom = 0
    /// No opening before that time; monotonic milliseconds.
    var nextOpening: Int64 = .min
    /// Ends the wait before the next opening.
    var openingTimer: LoopTimer?
    /// Whether the next connection follows one that answered 5xx.
    var isAfterServerError = false

    init(size: Int) { self.size = size }

    var waiting: Int { queue.count + held.count + connections.reduce(0) { $0 + $1.own.count } }

    /// The least loaded of the connections that have room, streams and window alike.
    func best() -> PoolConnection? {
        var best: PoolConnection?
        for entry in connections where entry.room > 0 {
            guard let other = best else {
                best = entry
                continue
            }
            if entry.connection.activeStreams < other.connection.activeStreams { best = entry }
        }
        return best
    }

    /// Whether a new connection should be opened now.
    func wantsConnection(at now: Int64) -> Bool {
        guard waiting > 0, now >= nextOpening else { return false }
        let hopeful = connections.filter(\.isHopeful)
        if hopeful.contains(where: \.isOpening) { return false }
        if let oldest = held.map(\.afterConnection).min() {
            let suits = hopeful.contains { entry in
                entry.serial > oldest
                    && held.contains { entry.token.generation >= $0.fromGeneration }
            }
            if !suits { return true }
        }
        if queue.isEmpty { return hopeful.isEmpty }
        return hopeful.count < size && hopeful.allSatisfy { $0.room == 0 }
    }
}
