import Topology

/// What a test does so that a process comes to a step.
enum KillTrigger: Sendable {
    /// An alert for all phones.
    case alert
    /// An alert while this service is away, which then comes back.
    case outage(of: PushBusService)
    /// A phone asks for a test notification.
    case test
    /// An alert for a phone whose token has died.
    case deadToken
    /// An account is made, a phone signs in, registers and signs out.
    case signIn
    /// An alert that ends while this service is away.
    case expiry(without: PushBusService)
    /// The process starts.
    case start
}

/// A moment at which a process is ended by SIGKILL, by the name of its crash point.
protocol KillStep: RawRepresentable<String>, CaseIterable, Sendable {
    static var service: PushBusService { get }
    var trigger: KillTrigger { get }
}

enum RegistrationStep: String, KillStep {
    static let service = PushBusService.registration

    case watermarkAsked = "audience.open.v1 received"
    case watermarkAnswering = "audience.open.answer.v1 sending"
    case watermarkAnswered = "audience.open.answer.v1 sent"
    case pageAsked = "audience.page.v1 received"
    case pageAnswering = "audience.page.answer.v1 sending"
    case pageAnswered = "audience.page.answer.v1 sent"
    case checkAsked = "eligibility.check.v1 received"
    case checkAnswering = "eligibility.check.answer.v1 sending"
    case checkAnswered = "eligibility.check.answer.v1 sent"
    case settingsCommitting = "save committing"
    case settingsCommitted = "save committed"
    case settingsReplying = "PUT /api/mobile/push/settings replying"
    case settingsReplied = "PUT /api/mobile/push/settings replied"
    case registrationCommitting = "register committing"
    case registrationCommitted = "register committed"
    case registrationReplying = "POST /api/mobile/push/encrypted-register replying"
    case registrationReplied = "POST /api/mobile/push/encrypted-register replied"
    case accountCommitting = "addAccount committing"
    case accountCommitted = "addAccount committed"
    case codeCommitting = "savePairingCode committing"
    case codeCommitted = "savePairingCode committed"
    case sessionCommitting = "openSession committing"
    case sessionCommitted = "openSession committed"
    case sessionReplying = "POST /api/mobile/auth/pair replying"
    case sessionReplied = "POST /api/mobile/auth/pair replied"
    case logoutCommitting = "endSession committing"
    case logoutCommitted = "endSession committed"
    case logoutReplying = "POST /api/mobile/auth/logout replying"
    case logoutReplied = "POST /api/mobile/auth/logout replied"
    case testCommitting = "requestTest committing"
    case testCommitted = "requestTest committed"
    case testReplying = "POST /api/mobile/push/test replying"
    case testReplied = "POST /api/mobile/push/test replied"
    case testPublishing = "event.publish.v1 sending"
    case testPublished = "event.publish.v1 sent"
    case testAcknowledged = "event.publish.answer.v1 received"
    case testForgetting = "settleTest committing"
    case testForgotten = "settleTest committed"
    case cleanupReceived = "registration.cleanup.v1 received"
    case cleanupCommitting = "clean committing"
    case cleanupCommitted = "clean committed"
    case cleanupAnswering = "registration.cleanup.answer.v1 sending"
    case cleanupAnswered = "registration.cleanup.answer.v1 sent"
    case purgeCommitting = "purge committing"
    case purgeCommitted = "purge committed"
    case recoveryCommitting = "begin committing"
    case recoveryCommitted = "begin committed"

    var trigger: KillTrigger {
        switch self {
        case .watermarkAsked, .watermarkAnswering, .watermarkAnswered, .pageAsked, .pageAnswering,
            .pageAnswered, .checkAsked, .checkAnswering, .checkAnswered:
            .alert
        case .accountCommitting, .accountCommitted, .codeCommitting, .codeCommitted,
            .sessionCommitting, .sessionCommitted, .sessionReplying, .sessionReplied,
            .logoutCommitting, .logoutCommitted, .logoutReplying, .logoutReplied,
            .settingsCommitting, .settingsCommitted, .settingsReplying, .settingsReplied,
            .registrationCommitting, .registrationCommitted, .registrationReplying,
            .registrationReplied:
            .signIn
        case .testCommitting, .testCommitted, .testReplying, .testReplied, .testPublishing,
            .testPublished, .testAcknowledged, .testForgetting, .testForgotten:
            .test
        case .cleanupReceived, .cleanupCommitting, .cleanupCommitted, .cleanupAnswering,
            .cleanupAnswered:
            .deadToken
        case .purgeCommitting, .purgeCommitted, .recoveryCommitting, .recoveryCommitted:
            .start
        }
    }
}

enum EventIngestStep: String, KillStep {
    static let service = PushBusService.eventIngest

    case publishReceived = "event.publish.v1 received"
    case admissionCommitting = "admit committing"
    case admissionCommitted = "admit committed"
    case publishAnswering = "event.publish.answer.v1 sending"
    case publishAnswered = "event.publish.answer.v1 sent"
    case watermarkAsking = "audience.open.v1 sending"
    case watermarkAsked = "audience.open.v1 sent"
    case watermarkReceived = "audience.open.answer.v1 received"
    case watermarkCommitting = "settle committing"
    case watermarkCommitted = "settle committed"
    case leaseCommitting = "claimDue committing"
    case leaseCommitted = "claimDue committed"
    case handOffSending = "event.admitted.v1 sending"
    case handOffSent = "event.admitted.v1 sent"
    case handOffAcknowledged = "ack.v1 received"
    case progressReceived = "fanout.progress.v1 received"
    case progressCommitting = "record committing"
    case progressCommitted = "record committed"
    case progressAnswering = "fanout.progress.answer.v1 sending"
    case progressAnswered = "fanout.progress.answer.v1 sent"
    case expiryCommitting = "expireDue committing"
    case expiryCommitted = "expireDue committed"
    case recoveryCommitting = "recover committing"
    case recoveryCommitted = "recover committed"

    var trigger: KillTrigger {
        switch self {
        case .expiryCommitting, .expiryCommitted: .expiry(without: .fanout)
        case .recoveryCommitting, .recoveryCommitted: .start
        case .watermarkCommitting, .watermarkCommitted: .outage(of: .registration)
        default: .alert
        }
    }
}

enum FanoutStep: String, KillStep {
    static let service = PushBusService.fanout

    case handOffReceived = "event.admitted.v1 received"
    case handOffAcknowledging = "ack.v1 sending"
    case handOffAcknowledged = "ack.v1 sent"
    case pageAsking = "audience.page.v1 sending"
    case pageAsked = "audience.page.v1 sent"
    case pageReceived = "audience.page.answer.v1 received"
    case batchSending = "delivery.enqueue.v1 sending"
    case batchSent = "delivery.enqueue.v1 sent"
    case batchAcknowledged = "delivery.enqueue.answer.v1 received"
    case progressSending = "fanout.progress.v1 sending"
    case progressSent = "fanout.progress.v1 sent"
    case progressAcknowledged = "fanout.progress.answer.v1 received"

    var trigger: KillTrigger { .alert }
}

enum DeliveryStep: String, KillStep {
    static let service = PushBusService.delivery

    case batchReceived = "delivery.enqueue.v1 received"
    case batchCommitting = "enqueue committing"
    case batchCommitted = "enqueue committed"
    case batchAnswering = "delivery.enqueue.answer.v1 sending"
    case batchAnswered = "delivery.enqueue.answer.v1 sent"
    case checkSending = "eligibility.check.v1 sending"
    case checkSent = "eligibility.check.v1 sent"
    case checkAnswered = "eligibility.check.answer.v1 received"
    case claimCommitting = "claim committing"
    case claimCommitted = "claim committed"
    case relaySending = "relay.send.v1 sending"
    case relaySent = "relay.send.v1 sent"
    case verdictReceived = "relay.verdict.v1 received"
    case outcomeCommitting = "settle committing"
    case outcomeCommitted = "settle committed"
    case sweepCommitting = "expire committing"
    case sweepCommitted = "expire committed"
    case cleanupSending = "registration.cleanup.v1 sending"
    case cleanupSent = "registration.cleanup.v1 sent"
    case cleanupAnswered = "registration.cleanup.answer.v1 received"
    case cleanupForgetting = "acknowledge committing"
    case cleanupForgotten = "acknowledge committed"
    case recoveryCommitting = "recover committing"
    case recoveryCommitted = "recover committed"
    case purgeCommitting = "purge committing"
    case purgeCommitted = "purge committed"

    var trigger: KillTrigger {
        switch self {
        case .cleanupSending, .cleanupSent, .cleanupAnswered, .cleanupForgetting,
            .cleanupForgotten:
            .deadToken
        case .sweepCommitting, .sweepCommitted: .expiry(without: .relay)
        case .recoveryCommitting, .recoveryCommitted, .purgeCommitting, .purgeCommitted: .start
        default: .alert
        }
    }
}

enum RelayStep: String, KillStep {
    static let service = PushBusService.relay

    case sendReceived = "relay.send.v1 received"
    case requestSending = "apns request sending"
    case requestSent = "apns request sent"
    case requestAnswered = "apns answer received"
    case verdictSending = "relay.verdict.v1 sending"
    case verdictSent = "relay.verdict.v1 sent"

    var trigger: KillTrigger { .alert }
}
