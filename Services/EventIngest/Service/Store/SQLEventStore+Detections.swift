import Contracts
import EventIngestCore
import FoundationEssentials
import ServiceKit
import Storage

/// A detection that nobody could decide about yet.
private struct UnresolvedDetection {
    var sequence: Int64
    var occurredAt: UnixMilliseconds
    var isSettled: Bool
    var key: [UInt8]
    var detection: [UInt8]
}

/// How far a walk through the unresolved detections has come.
private struct ResolvingPlace {
    /// The last one that was looked at.
    var occurredAt = UnixMilliseconds(.min)
    var sequence = Int64.min
    /// The keys of those that stay unresolved.
    var held: Set<[UInt8]> = []
}

extension SQLEventStore {
    static func detection(
        _ connection: Database.Connection,
        _ key: [UInt8]
    ) throws -> DetectionFacts {
        let last = try connection.first(
            "SELECT last_at_ms FROM silences WHERE dedupe_key = $1",
            [.blob(key)]
        ) { UnixMilliseconds($0.int(0)) }
        let held = try connection.first(
            "SELECT 1 FROM events WHERE state = 5 AND dedupe_key = $1",
            [.blob(key)]
        ) { $0.bool(0) }
        return DetectionFacts(lastAt: last, isHeld: held ?? false)
    }

    /// A silence never moves back, whatever comes late.
    static func startSilence(
        _ connection: Database.Connection,
        _ key: [UInt8],
        _ instant: UnixMilliseconds
    ) throws {
        try connection.execute(
            """
            INSERT INTO silences VALUES ($1, $2) ON CONFLICT (dedupe_key)
            DO UPDATE SET last_at_ms = CASE WHEN excluded.last_at_ms > silences.last_at_ms
                    THEN excluded.last_at_ms ELSE silences.last_at_ms END
            """,
            [.blob(key), .int(instant.milliseconds)]
        )
    }

    package func resolve(limit: Int) async throws -> ResolvedEvents {
        let isAny = try await database.read { connection in
            try connection.first("SELECT 1 FROM events WHERE state = 5 LIMIT 1") { $0.bool(0) }
        }
        guard isAny ?? false else { return ResolvedEvents() }
        var result = ResolvedEvents()
        var place: ResolvingPlace? = ResolvingPlace()
        do {
            // What cannot be decided holds its own key only: the walk goes on past it.
            while let current = place, result.admitted + result.suppressed < limit {
                let page = try await resolve(from: current, limit: limit)
                result.admitted += page.resolved.admitted
                result.suppressed += page.resolved.suppressed
                place = page.next
            }
        } catch {
            cache.forget()
            throw error
        }
        return result
    }

    private func resolve(
        from start: ResolvingPlace,
        limit: Int
    ) async throws -> (resolved: ResolvedEvents, next: ResolvingPlace?) {
        let (rulings, cache) = (rulings, cache)
        return try await database.write(rows: limit) { connection in
            let now = now(connection)
            let policy = try cache.policy(connection)
            var result = ResolvedEvents()
            var place = start
            let events = try Self.unresolved(connection, after: start, now: now, limit: limit)
            for event in events {
                (place.occurredAt, place.sequence) = (event.occurredAt, event.sequence)
                if place.held.contains(event.key) { continue }
                var facts = try Self.detection(connection, event.key)
                facts.isHeld = false
                guard
                    let detection = try? JSONDecoder().decode(
                        Detection.self,
                        from: Data(event.detection)
                    )
                else {
                    try Self.suppress(connection, event.sequence, reason: "unreadable")
                    result.suppressed += 1
                    continue
                }
                let decision = policy.decide(
                    detection,
                    at: event.occurredAt,
                    facts: facts,
                    zones: rulings.zones
                )
                if decision.startsSilence {
                    try Self.startSilence(connection, event.key, event.occurredAt)
                }
                switch decision {
                case .unresolved: place.held.insert(event.key)
                case .suppress(let suppression):
                    try Self.suppress(connection, event.sequence, reason: suppression.reason)
                    result.suppressed += 1
                case .admit:
                    try Self.release(connection, event, now: now)
                    result.admitted += 1
                }
            }
            return (result, events.count < limit ? nil : place)
        }
    }

    private static func unresolved(
        _ connection: Database.Connection,
        after place: ResolvingPlace,
        now: UnixMilliseconds,
        limit: Int
    ) throws -> [UnresolvedDetection] {
        try connection.query(
            """
            SELECT seq, occurred_at_ms, watermark, dedupe_key, detection FROM events
            WHERE state = 5 AND expires_at > $1 AND (occurred_at_ms, seq) > ($2, $3)
            ORDER BY occurred_at_ms, seq LIMIT $4
            """,
            [
                .int(now.second.seconds), .int(place.occurredAt.milliseconds),
                .int(place.sequence), .int(limit),
            ]
        ) { row in
            UnresolvedDetection(
                sequence: row.int(0),
                occurredAt: UnixMilliseconds(row.int(1)),
                isSettled: !row.isNull(2),
                key: row.blob(3),
                detection: row.blob(4)
            )
        }
    }

    private static func release(
        _ connection: Database.Connection,
        _ event: UnresolvedDetection,
        now: UnixMilliseconds
    ) throws {
        try connection.execute(
            """
            UPDATE events SET state = $2, turn_at_ms = $3, admitted = 1, detection = NULL
            WHERE seq = $1
            """,
            [
                .int(event.sequence),
                .int(event.isSettled ? EventSchema.Code.due : EventSchema.Code.awaitingWatermark),
                .int(orNull: event.isSettled ? now.milliseconds : nil),
            ]
        )
    }

    static func suppress(
        _ connection: Database.Connection,
        _ sequence: Int64,
        reason: String
    ) throws {
        try connection.execute(
            """
            UPDATE events SET state = 12, reason = $2, turn_at_ms = NULL, payload = NULL,
                traceparent = NULL, detection = NULL
            WHERE seq = $1
            """,
            [.int(sequence), .text(reason)]
        )
    }

    /// Ends what an integrator published and may no longer publish, as far as it is not admitted.
    static func cancelRevoked(
        _ connection: Database.Connection,
        _ id: String,
        _ integrator: Integrator?
    ) throws -> Int64 {
        let waiting = try connection.query(
            "SELECT seq, source, type FROM events WHERE state = 5 AND publisher = $1",
            [.text(id)]
        ) { row in (sequence: row.int(0), source: row.text(1), type: row.text(2)) }
        var count: Int64 = 0
        for event in waiting
        where !(integrator?.may(publish: event.type, from: event.source) ?? false) {
            let reason = Suppression.principalRevoked.reason
            try suppress(connection, event.sequence, reason: reason)
            count += 1
        }
        return count
    }
}
