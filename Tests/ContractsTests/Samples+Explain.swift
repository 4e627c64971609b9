import Contracts

extension Samples {
    static let explanations: [any BusMessage] = [
        EventExplain(eventID: event),
        EventExplainAnswer(
            eventID: event,
            receptions: [
                .init(
                    source: "/monitor/eu",
                    id: "a1",
                    verdict: "admitted",
                    receivedAt: UnixSeconds(2_000_000_000)
                )
            ],
            event: .init(
                eventID: event,
                source: "/monitor/eu",
                id: "a1",
                category: .taskFailure,
                state: .admitted,
                reason: "at_fanout",
                createdAt: UnixSeconds(2_000_000_000),
                expiresAt: UnixSeconds(2_000_001_800),
                written: 2,
                skipped: ["unsubscribed": 1]
            ),
            course: .init(
                occurredAt: UnixMilliseconds(2_000_000_000_123),
                publisher: "monitor",
                watermark: 42,
                cursor: installation,
                turnAt: UnixMilliseconds(2_000_000_015_123),
                waitsFor: event,
                audience: Audience(userID: UserID("alice"), installationID: installation)
            ),
            run: .init(isDone: false, targets: 3, finished: 2)
        ),
        InstallationExplain(
            installationID: installation,
            category: .alert,
            watermark: 42,
            audience: Audience(userID: UserID("alice"))
        ),
        InstallationExplainAnswer(
            isKnown: true,
            isInAudience: true,
            obstacle: .subscribedLater,
            userID: UserID("alice"),
            role: .admin,
            binding: 45,
            since: 43
        ),
    ]
}
