import Contracts
import HTTP2

/// The rules about provider tokens that hold for the life of one connection (Apple's pages
/// "Establishing a token-based connection" and "Sending notification requests").
///
/// The first request with a valid token binds the connection to a team, to the kind of key and to
/// the topics known at that moment: a bundle id that the team gets later needs a new connection.
struct ConnectionTokenRules: Sendable {
    /// A token is good for this long after its `iat`.
    static let lifetimeSeconds: Int64 = 3_600
    /// A connection may change its token no more often than this.
    static let updateSeconds: Int64 = 1_200
    /// Changes of token that are remembered for looking at.
    static let keptChanges = 16

    /// A token and when the connection first used it.
    struct Use: Sendable {
        var token: VerifiedProviderToken
        var sinceSeconds: Int64
    }

    /// What the first request tied the connection to.
    struct Binding: Sendable {
        var teamID: String
        /// The bundle ids of the team, or the topics of a topic-specific key.
        var topics: Set<String>
        /// The first key was topic-specific.
        var isTopicSpecific: Bool
    }

    private(set) var binding: Binding?
    /// The tokens used so far, oldest first.
    private(set) var uses: [Use] = []
    private var blockedUntil: Int64 = 0
    private var lastHeader: [UInt8] = []
    private var lastToken: VerifiedProviderToken?
    private var lastRevision = 0
    private var lastTopic = ""

    /// Judges the `authorization` field of a request at the given Unix second.
    mutating func check(
        _ authorization: UnsafeBufferPointer<UInt8>?,
        now: Int64,
        environment: APNsEnvironment,
        verifier: inout ProviderTokenVerifier
    ) throws(APNsAnswer) {
        if let lastToken, lastRevision == verifier.revision, let authorization,
            lastHeader.withUnsafeBufferPointer({ authorization.isEqual(to: $0) })
        {
            try admit(lastToken, now: now)
            return
        }
        let token = try parse(authorization, &verifier)
        guard let key = verifier.keys[token.keyID] else {
            throw APNsAnswer("InvalidProviderToken")
        }
        try checkAge(token, now: now)
        guard now >= blockedUntil else { throw APNsAnswer("TooManyProviderTokenUpdates") }
        if let binding, binding.teamID != token.teamID {
            throw APNsAnswer("InvalidProviderToken")
        }
        guard key.environments.contains(environment) else {
            throw APNsAnswer("BadEnvironmentKeyIdInToken")
        }
        if let binding {
            let isRelated =
                binding.isTopicSpecific ? key.topics == binding.topics : key.topics == nil
            guard isRelated else { throw APNsAnswer("UnrelatedKeyIdInToken") }
        }
        try admit(token, now: now)
        if binding == nil {
            binding = Binding(
                teamID: token.teamID,
                topics: key.topics ?? verifier.teams[token.teamID] ?? [],
                isTopicSpecific: key.topics != nil
            )
        }
        lastHeader = authorization.map { Array($0) } ?? []
        lastToken = token
        lastRevision = verifier.revision
    }

    /// Whether the connection may send for that topic: a bundle id, alone or with a suffix.
    mutating func allows(topic: String) -> Bool {
        if topic == lastTopic { return true }
        guard let binding else { return false }
        let isAllowed =
            binding.topics.contains(topic)
            || binding.topics.contains { topic.hasPrefix($0 + ".") }
        if isAllowed { lastTopic = topic }
        return isAllowed
    }

    private func checkAge(_ token: VerifiedProviderToken, now: Int64) throws(APNsAnswer) {
        guard now < token.issuedAtSeconds + Self.lifetimeSeconds,
            token.issuedAtSeconds < now + Self.lifetimeSeconds
        else { throw APNsAnswer("ExpiredProviderToken") }
    }

    /// Holds a token that verified against its age and the rule about changes.
    private mutating func admit(_ token: VerifiedProviderToken, now: Int64) throws(APNsAnswer) {
        try checkAge(token, now: now)
        guard now >= blockedUntil else { throw APNsAnswer("TooManyProviderTokenUpdates") }
        guard let current = uses.last else {
            uses = [Use(token: token, sinceSeconds: now)]
            return
        }
        guard current.token != token else { return }
        let allowedFrom = current.sinceSeconds + Self.updateSeconds
        guard now >= allowedFrom else {
            // The connection stays unusable until enough time has passed.
            blockedUntil = allowedFrom
            throw APNsAnswer("TooManyProviderTokenUpdates")
        }
        if uses.count >= Self.keptChanges { uses.removeFirst() }
        uses.append(Use(token: token, sinceSeconds: now))
    }

    private func parse(
        _ authorization: UnsafeBufferPointer<UInt8>?,
        _ verifier: inout ProviderTokenVerifier
    ) throws(APNsAnswer) -> VerifiedProviderToken {
        guard let authorization, authorization.count > 7 else {
            throw APNsAnswer("MissingProviderToken")
        }
        let text = String(decoding: authorization, as: UTF8.self)
        guard text.prefix(7).lowercased() == "bearer " else {
            throw APNsAnswer("MissingProviderToken")
        }
        return try verifier.verify(String(text.dropFirst(7)))
    }
}
