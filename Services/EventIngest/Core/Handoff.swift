import Contracts

/// The way of one admitted event to the end of its fan-out.
///
/// ```
/// waiting for its watermark ─▶ due ─▶ handed until a deadline ─▶ fanned out
///                               ▲          │ deadline passed, or given back
///                               └──────────┘
/// ```
/// From each of these it expires when its time ends.
package struct Handoff: Hashable, Sendable {
    /// How long a Fanout may stay silent before the event is handed out again, in milliseconds.
    package static let silenceMilliseconds: Int64 = 15_000
    /// Longest delay that a Fanout may ask for, in milliseconds.
    package static let longestDelayMilliseconds: Int64 = 60_000
    /// No turn lies further ahead than this, in milliseconds: one that does was written before the
    /// clock was set back.
    package static let horizonMilliseconds = max(silenceMilliseconds, longestDelayMilliseconds)
    /// Most reasons that are counted apart for one event; further ones count as `other`.
    package static let skipReasons = 32

    package enum Phase: Hashable, Sendable {
        case awaitingWatermark
        /// To be handed out from this instant on.
        case due(UnixMilliseconds)
        /// At a Fanout, which has to report before this instant.
        case handed(UnixMilliseconds)
        case fannedOut
        case expired
    }

    package private(set) var phase: Phase
    package private(set) var watermark: Int64?
    package private(set) var cursor: InstallationID?
    package private(set) var written: Int64
    package private(set) var skipped: [String: Int64]
    package let expiresAt: UnixSeconds

    /// A freshly admitted event.
    package init(expiresAt: UnixSeconds) {
        self.init(
            phase: .awaitingWatermark,
            watermark: nil,
            cursor: nil,
            written: 0,
            skipped: [:],
            expiresAt: expiresAt
        )
    }

    /// What a store has kept.
    package init(
        phase: Phase,
        watermark: Int64?,
        cursor: InstallationID?,
        written: Int64,
        skipped: [String: Int64],
        expiresAt: UnixSeconds
    ) {
        self.phase = phase
        self.watermark = watermark
        self.cursor = cursor
        self.written = written
        self.skipped = skipped
        self.expiresAt = expiresAt
    }

    /// Whether its fan-out is still to be completed.
    package var isOpen: Bool {
        switch phase {
        case .awaitingWatermark, .due, .handed: true
        case .fannedOut, .expired: false
        }
    }

    /// Takes Registration's counter; false when there is one already, which is final.
    package mutating func settle(watermark value: Int64, now: UnixMilliseconds) -> Bool {
        guard phase == .awaitingWatermark else { return false }
        watermark = value
        phase = .due(now)
        return true
    }

    /// Gives it to a Fanout; false when it is not its turn.
    package mutating func hand(now: UnixMilliseconds) -> Bool {
        switch phase {
        case .due(let instant) where instant <= now,
            .handed(let instant) where instant <= now:
            guard now < expiresAt.start else { return false }
            phase = .handed(now.adding(milliseconds: Self.silenceMilliseconds))
            return true
        default: return false
        }
    }

    /// Takes it back from a Fanout of which nothing more can come, such as one of an earlier life.
    package mutating func release(now: UnixMilliseconds) -> Bool {
        guard case .handed = phase else { return false }
        phase = .due(now)
        return true
    }

    /// Ends it if its time has ended.
    package mutating func expire(now: UnixMilliseconds) -> Bool {
        guard isOpen, expiresAt.start <= now else { return false }
        phase = .expired
        return true
    }

    /// What became of a report.
    package enum Reception: Hashable, Sendable {
        case committed
        /// It does not begin at the stored cursor: another report was first.
        case stale
        /// The event has ended, or ends now because its time has passed.
        case ended
    }

    /// Takes a report if it begins where the stored cursor stands.
    package mutating func accept(
        _ progress: FanoutProgress,
        now: UnixMilliseconds
    ) -> Reception {
        _ = expire(now: now)
        switch phase {
        case .fannedOut, .expired: return .ended
        case .awaitingWatermark: return .stale
        case .due, .handed: break
        }
        guard progress.from == cursor else { return .stale }
        cursor = progress.to
        written = Self.sum(written, progress.written)
        for (reason, count) in progress.skipped.sorted(by: { $0.key < $1.key }) where count > 0 {
            let isKept =
                skipped[reason] != nil
                || (skipped.count < Self.skipReasons && reason.utf8.count <= 64)
            let key = isKept ? reason : "other"
            skipped[key] = Self.sum(skipped[key] ?? 0, count)
        }
        switch progress.state {
        case .more: phase = .handed(now.adding(milliseconds: Self.silenceMilliseconds))
        case .done: phase = .fannedOut
        case .back:
            let delay = min(max(progress.delayMilliseconds ?? 0, 0), Self.longestDelayMilliseconds)
            phase = .due(now.adding(milliseconds: delay))
        }
        return .committed
    }

    private static func sum(_ left: Int64, _ right: Int64) -> Int64 {
        let (sum, overflow) = left.addingReportingOverflow(right)
        return overflow ? .max : sum
    }
}

extension FanoutProgress {
    /// Checks what makes a report impossible whatever the stored cursor is.
    package func checkDirection() throws(ContractViolation) {
        let moves =
            switch (from, to) {
            case (nil, _): true
            case (_?, nil): false
            case (let from?, let to?): from <= to
            }
        try ContractViolation.check(moves, "/to", "must not lie before from")
        try ContractViolation.check(
            to?.isWellFormed ?? true,
            "/to",
            "must be 1 to 512 bytes without control characters"
        )
    }
}
