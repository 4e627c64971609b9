import Contracts
import Storage

extension EventDeltas {
    /// Writes all changes; the last statement before the COMMIT, since whoever works on the same events
    /// waits from here on. Events are locked in the order of their numbers, after their rows.
    func write(to connection: PostgreSQLConnection) throws {
        guard !deltas.isEmpty else { return }
        let sorted = deltas.sorted { $0.key < $1.key }
        let events = sorted.map(\.key)
        if events.count > 1 {
            try connection.execute(
                "SELECT 1 FROM event_count WHERE event = ANY($1) ORDER BY event FOR UPDATE",
                arrays: [.ints(events)]
            )
        }
        try connection.execute(
            """
            UPDATE event_count s SET open = s.open + c.open, retryable = s.retryable + c.retryable,
                accepted = s.accepted + c.accepted, permanent = s.permanent + c.permanent,
                expired = s.expired + c.expired,
                turn = CASE WHEN s.open + c.open <= 0 THEN 9223372036854775807
                    ELSE least(s.turn, c.turn) END
            FROM unnest($1, $2, $3, $4, $5, $6, $7)
                AS c(event, open, retryable, accepted, permanent, expired, turn)
            WHERE s.event = c.event
            """,
            arrays: [
                .ints(events), .ints(sorted.map(\.value.open)),
                .ints(sorted.map(\.value.retryable)),
                .ints(sorted.map { $0.value.ended[.accepted] ?? 0 }),
                .ints(sorted.map { $0.value.ended[.permanent] ?? 0 }),
                .ints(sorted.map { $0.value.ended[.expired] ?? 0 }),
                .ints(sorted.map { $0.value.turn ?? .max }),
            ]
        )
    }
}
