import Contracts
import FoundationEssentials

/// One full sample of every message, and the golden file it must equal.
enum Samples {
    static let event = EventID(uuid: "11111111-1111-4111-8111-111111111111")
    static let key = KeyID(uuid: "22222222-2222-4222-8222-222222222222")
    static let installation = InstallationID("test-install")
    static let envelope = Envelope(
        keyID: key,
        identity: "40e9ea0a395dec3bafe5e84afbbe2e726ac53aa273f168b4ac650b208fdef51f",
        nonce: Blob(Array(0x20...0x2b)),
        ciphertext: Blob(Array(0..<40))
    )

    static let messages: [any BusMessage] =
        bus + policy + fanout + delivery + registration + users + relay

    static let bus: [any BusMessage] =
        [
            Ack(),
            Reject(
                .retryAfter,
                "the outbox is full; send again",
                retryAfterMilliseconds: 1500,
                pointer: "/records/0"
            ),
            ServiceStatus(),
            ServiceStatusAnswer(
                service: "delivery",
                version: "0.1.0",
                processID: 4711,
                ready: false,
                conditions: ["registration": "no answer yet", "store": ""],
                metrics: ["pushbus_rows": 12]
            ),
            EventPublish(
                events: [
                    .object([
                        "specversion": .string("1.0"),
                        "id": .string("a1"),
                        "source": .string("/monitor/eu"),
                        "type": .string(EventType.alertTriggered.rawValue),
                        "data": .object(["rule_id": .string("cpu"), "value": .number(0.5)]),
                    ])
                ]
            ),
            EventPublishAnswer(results: [
                .init(.accepted, eventID: event),
                .init(.invalid, pointer: "/data/rule_id", reason: "is missing"),
                .init(.retryAfter, retryAfterMilliseconds: 2000),
            ]),
            EventQuery(eventID: event, limit: 10),
            EventQueryAnswer(events: [
                .init(
                    eventID: event,
                    source: "/monitor/eu",
                    id: "a1",
                    category: .alert,
                    state: .fannedOut,
                    reason: "complete",
                    createdAt: UnixSeconds(2_000_000_000),
                    expiresAt: UnixSeconds(2_000_001_800),
                    written: 2,
                    skipped: ["unsubscribed": 1]
                )
            ]),
        ] + explanations

    static let fanout: [any BusMessage] = [
        EventAdmitted(
            eventID: event,
            createdAt: UnixSeconds(2_000_000_000),
            expiresAt: UnixSeconds(2_000_001_800),
            watermark: 42,
            cursor: installation,
            audience: Audience(userID: UserID("alice"), installationID: installation),
            content: .alert(
                AlertContent(
                    alertKey: "v1.WyJhIl0=",
                    status: .firing,
                    ruleName: "CPU über 90 %",
                    serverName: "web/1"
                )
            )
        ),
        FanoutProgress(
            eventID: event,
            from: installation,
            to: InstallationID("test-install-2"),
            written: 1,
            skipped: ["role": 3],
            state: .back,
            delayMilliseconds: 5000
        ),
        FanoutProgressAnswer(eventID: event, cursor: installation, isOpen: true),
        AudienceOpen(),
        AudienceOpenAnswer(watermark: 42),
        AudiencePage(
            category: .security,
            watermark: 42,
            audience: Audience(userID: UserID("alice"), installationID: installation),
            after: installation,
            limit: 512
        ),
        AudiencePageAnswer(
            recipients: [
                .init(
                    installationID: installation,
                    userID: UserID("alice"),
                    deploymentID: DeploymentID("https://serverbee.test"),
                    sessionID: SessionID("s1"),
                    role: .admin,
                    binding: 7,
                    keyID: key,
                    contentKey: ContentKey(count: 32)
                )
            ],
            last: InstallationID("test-install-2"),
            more: true,
            skipped: ["unsubscribed": 1]
        ),
    ]

    static let delivery: [any BusMessage] = [
        DeliveryEnqueue(
            eventID: event,
            category: .alert,
            createdAt: UnixSeconds(2_000_000_000),
            expiresAt: UnixSeconds(2_000_001_800),
            watermark: 42,
            records: [
                .init(installationID: installation, binding: 7, envelope: envelope),
                .init(
                    installationID: InstallationID("test-install-2"),
                    binding: 8,
                    failure: "key_unusable"
                ),
            ]
        ),
        DeliveryEnqueueAnswer(accepted: 1, duplicate: 1),
        ReceiptQuery(
            eventID: event,
            installationID: installation,
            state: .retryable,
            after: 9,
            limit: 5
        ),
        ReceiptQueryAnswer(
            receipts: [
                .init(
                    eventID: event,
                    installationID: installation,
                    category: .alert,
                    state: .retryable,
                    reason: "ProviderUnavailable",
                    attempts: 2,
                    createdAt: UnixSeconds(2_000_000_000),
                    expiresAt: UnixSeconds(2_000_001_800),
                    updatedAt: UnixMilliseconds(2_000_000_001_250),
                    nextAttemptAt: UnixMilliseconds(2_000_000_005_000)
                )
            ],
            next: 10
        ),
        OutboxStatus(),
        OutboxStatusAnswer(
            states: [.init(state: .pending, rows: 3, oldestAt: UnixSeconds(2_000_000_000))],
            cleanupsWaiting: 1
        ),
        OutboxRetry(OutboxSelection(eventID: event, installationID: installation), after: 9),
        OutboxRetryAnswer(advanced: 5, next: 5009),
        OutboxCancel(OutboxSelection()),
        OutboxCancelAnswer(cancelled: 4, held: 1, next: nil),
        OutboxPurge(olderThanSeconds: 172_800),
        OutboxPurgeAnswer(removed: 500),
        OutboxBackup(path: "/var/backups/outbox.db"),
        OutboxBackupAnswer(bytes: 4096),
    ]

    static let registration: [any BusMessage] = [
        EligibilityCheck(checks: [
            .init(installationID: installation, binding: 7, watermark: 42, category: .alert)
        ]),
        EligibilityCheckAnswer(verdicts: [
            .eligible(
                .init(
                    deviceToken: DeviceToken(text: "00ff10"),
                    environment: .production,
                    confirmedAt: UnixMilliseconds(2_000_000_000_123),
                    isYoung: true
                )
            ),
            .ineligible(.sessionEnded),
        ]),
        RegistrationCleanup(
            processID: "b7c1",
            totals: ["production": .init(verdicts: 90, dead: 1, suspect: 2, topic: 3)],
            items: [
                .init(
                    installationID: installation,
                    binding: 7,
                    tokenHash: Blob(Array(repeating: 9, count: 32)),
                    kind: .dead,
                    apnsTimestamp: UnixMilliseconds(2_000_000_000_456),
                    confirmedAt: UnixMilliseconds(2_000_000_000_123)
                )
            ]
        ),
        RegistrationCleanupAnswer(results: [.applied, .stale, .held]),
        UserAdd(username: "alice", password: Password("correct horse"), role: .admin),
        UserAddAnswer(userID: UserID("alice"), added: true),
        PairingCreate(username: "alice"),
        PairingCreateAnswer(
            code: Password("K7-EXAMPLE"),
            serverURL: "http://127.0.0.1:8080",
            expiresAt: UnixSeconds(2_000_000_300)
        ),
    ]

    static let users: [any BusMessage] = [
        UserList(after: "alice", limit: 10),
        UserListAnswer(
            users: [
                .init(
                    userID: UserID("u-1"),
                    username: "bob",
                    role: .member,
                    createdAt: UnixSeconds(2_000_000_000),
                    devices: 2,
                    totp: true
                )
            ],
            more: true
        ),
        UserRoleChange(username: "alice", role: .member),
        UserRoleChangeAnswer(userID: UserID("u-1"), previous: .admin),
        UserPasswordChange(username: "alice", password: Password("correct horse")),
        UserPasswordChangeAnswer(userID: UserID("u-1"), sessionsEnded: 3),
        UserDelete(username: "alice"),
        UserDeleteAnswer(userID: UserID("u-1"), sessionsEnded: 3),
        UserTOTPChange(username: "alice", enabled: true),
        UserTOTPChangeAnswer(
            userID: UserID("u-1"),
            uri: Password("otpauth://totp/PushBus:alice?secret=GEZDGNBV&issuer=PushBus")
        ),
        RegistrationBackup(path: "/var/backups/registration.sqlite"),
        RegistrationBackupAnswer(bytes: 4096),
        RegistrationRenewal(),
        RegistrationRenewalAnswer(sessionsEnded: 3),
        MasterKeyRotate(begin: true),
        MasterKeyRotateAnswer(running: true, resealed: 7, unreadable: 1, trouble: "no room"),
    ]

    static let relay: [any BusMessage] = [
        RelaySend(messages: [
            .init(
                deviceToken: DeviceToken(text: "00ff10"),
                environment: .sandbox,
                eventID: event,
                expiresAt: UnixSeconds(2_000_001_800),
                envelope: envelope,
                isYoung: false
            )
        ]),
        RelayVerdicts(
            verdicts: [
                .init(
                    index: 0,
                    outcome: .permanent,
                    reason: "Unregistered",
                    scope: .device,
                    exposure: .answered,
                    cleanup: .dead,
                    retryAfterMilliseconds: 1000,
                    apnsTimestamp: UnixMilliseconds(2_000_000_000_456)
                ),
                .init(
                    index: 1,
                    outcome: .accepted,
                    reason: "Accepted",
                    scope: .message,
                    exposure: .answered
                ),
            ],
            last: true
        ),
    ]
}

// Literals of the samples: a wrong one is a fault of this file.
extension UUIDIdentifier {
    init(uuid text: String) { self = Self(text) ?? Self(UUID()) }
}

extension ContentKey {
    init(count: UInt8) {
        guard let key = ContentKey(Array(0..<count)) else { preconditionFailure("sample key") }
        self = key
    }
}

extension DeviceToken {
    init(text: String) {
        guard let token = DeviceToken(text) else { preconditionFailure("sample token") }
        self = token
    }
}
