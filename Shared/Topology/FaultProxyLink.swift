import Glibc
import Loop

/// One connection through the proxy: two descriptors and what is on its way between them.
// Sendable by proof: all state is touched on the loop thread of the proxy only; every method is
// called there.
final class FaultProxyLink: @unchecked Sendable {
    /// One direction.
    // Sendable by proof: as the link itself.
    private final class Way: @unchecked Sendable {
        let source: Int32
        let sink: Int32
        var bytes: [UInt8] = []
        var sent = 0
        /// The piece still waits for its delay.
        var isHeld = false
        /// The source has nothing more to say.
        var isOver = false
        /// The end was passed on.
        var isShut = false
        /// The source is closed for good and no longer watched; what it sent is still read.
        var isGone = false

        init(from source: Int32, to sink: Int32) {
            self.source = source
            self.sink = sink
        }

        var isEmpty: Bool { sent == bytes.count }
    }

    private unowned let core: FaultProxyCore
    private let peer: Int32
    private let far: Int32
    private let forward: Way
    private let back: Way
    private var isConnected = false
    private var isEnded = false
    private var passed = 0

    private static let maximumPieceBytes = 65_536
    private static let recordedBytes = 64 << 20

    init(core: FaultProxyCore, peer: Int32, far: Int32) {
        self.core = core
        self.peer = peer
        self.far = far
        forward = Way(from: peer, to: far)
        back = Way(from: far, to: peer)
    }

    func begin() {
        do {
            try core.backend.watch(peer, for: []) { [weak self] in self?.ready(atPeer: true, $0) }
            try core.backend.watch(far, for: .write) { [weak self] in self?.ready(atPeer: false, $0)
            }
        } catch {
            end()
        }
    }

    func end() {
        guard !isEnded else { return }
        isEnded = true
        core.backend.unwatch(peer)
        core.backend.unwatch(far)
        if core.faults.withLock({ $0.resets }) {
            var hard = linger(l_onoff: 1, l_linger: 0)
            let size = socklen_t(MemoryLayout<linger>.size)
            for descriptor in [peer, far] {
                setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &hard, size)
            }
        }
        close(peer)
        close(far)
        core.forget(self)
    }

    /// Watches for what the faults and the buffers allow now.
    func follow() {
        guard !isEnded, isConnected else { return }
        let isPaused = core.faults.withLock { $0.isPaused }
        func interest(reads: Way, writes: Way) -> EpollEvents {
            var events: EpollEvents = []
            if !isPaused && reads.isEmpty && !reads.isOver { events.insert(.read) }
            if !writes.isEmpty && !writes.isHeld { events.insert(.write) }
            return events
        }
        do {
            if !forward.isGone {
                try core.backend.setInterest(peer, interest(reads: forward, writes: back))
            }
            if !back.isGone {
                try core.backend.setInterest(far, interest(reads: back, writes: forward))
            }
        } catch {
            return end()
        }
        for way in [forward, back] where way.isGone && !isPaused {
            while !isEnded, way.isEmpty, !way.isOver { receive(way) }
        }
    }

    private func ready(atPeer: Bool, _ events: EpollEvents) {
        let isBroken = !events.isDisjoint(with: [.error, .hangup])
        if !isConnected {
            if atPeer { return lose(forward) }
            // The far side is connected, or refused.
            if isBroken { return end() }
            isConnected = true
            return follow()
        }
        let way = atPeer ? forward : back
        if isBroken {
            lose(way)
        } else {
            if events.contains(.write) { send(atPeer ? back : forward) }
            if !isEnded, events.contains(.read) { receive(way) }
        }
        follow()
    }

    /// The way's source is closed for good: what it sent is still read, but it is watched no more,
    /// as its end would be reported for ever while reading is muted.
    private func lose(_ way: Way) {
        guard !way.isGone else { return }
        way.isGone = true
        core.backend.unwatch(way.source)
    }

    private func receive(_ way: Way) {
        guard way.isEmpty, !way.isOver else { return }
        let faults = core.faults.withLock { $0 }
        let size = min(max(1, faults.pieceBytes), Self.maximumPieceBytes)
        var piece = [UInt8](repeating: 0, count: size)
        let count = read(way.source, &piece, piece.count)
        if count < 0 {
            if way.isGone || (errno != EAGAIN && errno != EINTR) { end() }
            return
        }
        guard count > 0 else {
            way.isOver = true
            return passEndOn()
        }
        core.recording.withLock { recording in
            guard let kept = recording, kept.count < Self.recordedBytes else { return }
            recording?.append(contentsOf: piece[..<count])
        }
        if faults.swallows || (faults.swallowsAnswers && way === back) { return }
        var length = count
        if let limit = faults.cutAfterBytes { length = min(count, max(0, limit - passed)) }
        way.bytes = Array(piece[..<length])
        way.sent = 0
        if faults.delay > .zero {
            way.isHeld = true
            core.loop.schedule(after: faults.delay) { [weak self] in self?.release(way) }
        } else {
            send(way)
        }
    }

    private func release(_ way: Way) {
        guard !isEnded else { return }
        way.isHeld = false
        send(way)
        follow()
    }

    private func send(_ way: Way) {
        guard !isEnded, !way.isHeld else { return }
        if !way.isEmpty {
            let count = way.bytes[way.sent...].withUnsafeBytes {
                Glibc.send(way.sink, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0 {
                if errno == EAGAIN || errno == EINTR { return }
                // Nobody is there to take it; what the other way carries still counts.
                lose(way === forward ? back : forward)
                way.sent = way.bytes.count
                return
            }
            way.sent += count
            passed += count
            let isForward = way === forward
            core.statistics.withLock { statistics in
                if isForward {
                    statistics.bytesForward += count
                } else {
                    statistics.bytesBack += count
                }
            }
        }
        if let limit = core.faults.withLock({ $0.cutAfterBytes }), passed >= limit { return end() }
        passEndOn()
    }

    /// Shuts the writing half where the other side has ended, and ends the link when both have.
    private func passEndOn() {
        if forward.isOver, forward.isEmpty, !forward.isShut {
            forward.isShut = true
            shutdown(far, Int32(SHUT_WR))
        }
        if back.isOver, back.isEmpty, !back.isShut {
            back.isShut = true
            shutdown(peer, Int32(SHUT_WR))
        }
        let isPointless = [forward, back].contains { $0.isShut && $0.isGone }
        if isPointless || (forward.isShut && back.isShut) { end() }
    }
}
