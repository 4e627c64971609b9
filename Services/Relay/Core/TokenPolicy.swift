import Contracts

/// When a provider token may be signed, used and given up (Apple's page "Establishing a
/// token-based connection to APNs"). One value per environment and process; time is passed in.
package struct TokenPolicy: Hashable, Sendable {
    /// At most one new token in this time; Apple's bound is 20 minutes.
    package static let signEveryMilliseconds: Int64 = 20 * 60_000
    /// A connection opened while the shared token is older than this starts with a fresh one.
    package static let shareForMilliseconds: Int64 = 30 * 60_000
    /// A connection is replaced when its token reaches this age; Apple's bound is 60 minutes.
    package static let replaceAtMilliseconds: Int64 = 50 * 60_000
    /// An `iat` further off than this from the wall clock means that the clock stepped.
    static let iatAheadMilliseconds: Int64 = 60_000
    static let iatBehindMilliseconds: Int64 = 58 * 60_000
    /// Until here a token is handed out when none may be signed.
    static let lastUseMilliseconds: Int64 = 57 * 60_000

    /// A signed token as the policy knows it; the text stays with the signer.
    package struct Token: Hashable, Sendable {
        /// 1 for the first token of this process.
        package let generation: Int
        /// On the monotonic clock.
        package let signedAtMilliseconds: Int64
        package let issuedAt: UnixSeconds

        package func age(at now: Int64) -> Int64 { now - signedAtMilliseconds }
    }

    /// What a new connection does.
    package enum Opening: Hashable, Sendable {
        case use(Token)
        /// Sign with this `iat`, then report with ``signed(at:issuedAt:)``.
        case sign
        /// No usable token, and none may be signed before that time has passed.
        case wait(milliseconds: Int64)
    }

    /// What an `ExpiredProviderToken` answer asks for.
    package enum Expiry: Hashable, Sendable {
        /// Close that connection; the resend goes over one with a newer token.
        case renew
        /// The token is young: our clock is wrong. Sign nothing, hold the messages.
        case clockIsWrong
    }

    private var shared: Token?
    /// Tokens up to this generation are not handed to new connections.
    private var revokedGeneration = 0
    private var nextGeneration = 1
    private var lastSignedAt: Int64?
    private var heldUntil: Int64?

    package init() {}

    /// The token that new connections share now, whether or not it is still young enough.
    package var current: Token? {
        shared.flatMap { $0.generation > revokedGeneration ? $0 : nil }
    }

    /// Decides for a connection about to be opened.
    package func opening(at now: Int64, wall: UnixMilliseconds) -> Opening {
        if let token = current, isBelievable(token, wall) {
            let age = token.age(at: now)
            if age <= Self.shareForMilliseconds { return .use(token) }
            // An older token is still good for a while when none may be signed.
            if waitBeforeSigning(now) > 0, age < Self.lastUseMilliseconds { return .use(token) }
        }
        let wait = waitBeforeSigning(now)
        return wait > 0 ? .wait(milliseconds: wait) : .sign
    }

    /// Records a new token and makes it the shared one.
    package mutating func signed(at now: Int64, issuedAt: UnixSeconds) -> Token {
        let token = Token(
            generation: nextGeneration,
            signedAtMilliseconds: now,
            issuedAt: issuedAt
        )
        nextGeneration += 1
        lastSignedAt = now
        shared = token
        return token
    }

    /// Whether a connection with this token is to be replaced, make before break.
    package func isDue(_ token: Token, at now: Int64) -> Bool {
        token.age(at: now) >= Self.replaceAtMilliseconds
    }

    /// Whether a token is so old that nothing is sent with it any more: APNs would refuse it soon.
    package func isSpent(_ token: Token, at now: Int64) -> Bool {
        token.age(at: now) >= Self.lastUseMilliseconds
    }

    /// An answer called the token of a connection expired.
    package mutating func expired(_ token: Token, at now: Int64) -> Expiry {
        // Somebody renewed already: the resend takes the newer token, and nothing is signed.
        if let current, current.generation > token.generation { return .renew }
        if token.generation <= revokedGeneration { return .renew }
        guard token.age(at: now) >= Self.signEveryMilliseconds else { return .clockIsWrong }
        revokedGeneration = token.generation
        return .renew
    }

    /// APNs counted too many tokens: nothing is signed for a while, the held token stays in use.
    package mutating func tooManyUpdates(at now: Int64) {
        heldUntil = now + Self.signEveryMilliseconds
    }

    private func waitBeforeSigning(_ now: Int64) -> Int64 {
        let sinceLast = lastSignedAt.map { $0 + Self.signEveryMilliseconds - now } ?? 0
        let held = heldUntil.map { $0 - now } ?? 0
        return max(0, sinceLast, held)
    }

    /// After a step of the wall clock the `iat` of a token may be one that APNs refuses.
    private func isBelievable(_ token: Token, _ wall: UnixMilliseconds) -> Bool {
        let age = wall.milliseconds - token.issuedAt.start.milliseconds
        return age >= -Self.iatAheadMilliseconds && age <= Self.iatBehindMilliseconds
    }
}

/// Notices that the wall clock stepped against the monotonic one.
package struct ClockWatch: Hashable, Sendable {
    /// Drift below this is the clock being disciplined, not a step.
    package static let toleranceMilliseconds: Int64 = 5_000

    private var offset: Int64?

    package init() {}

    /// How far the wall clock jumped since the last call, or nil; forward is positive.
    package mutating func observe(wall: UnixMilliseconds, monotonicMilliseconds: Int64) -> Int64? {
        let new = wall.milliseconds &- monotonicMilliseconds
        defer { offset = new }
        guard let offset, abs(new &- offset) > Self.toleranceMilliseconds else { return nil }
        return new &- offset
    }
}
