import Contracts
import HTTP2
import PushBusCrypto

/// A signing key that the simulator knows, as Apple's developer account would.
struct ProviderKey: Sendable {
    var teamID: String
    var publicKey: ES256PublicKey
    /// Bundle ids that the team owns; a topic is one of them, alone or with a suffix.
    var bundleIDs: [String]
    /// Keys made since February 2025 belong to one environment.
    var environments: Set<APNsEnvironment>
}

/// What a provider token says, once its signature has been verified.
struct VerifiedProviderToken: Hashable, Sendable {
    var keyID: String
    var teamID: String
    var issuedAtSeconds: Int64
}

/// Verifies provider tokens; a token is verified once and remembered while it is in use.
struct ProviderTokenVerifier: Sendable {
    var keys: [String: ProviderKey]
    /// Takes `iat` as a string too, as one public client sends it.
    var isLenient = false
    private var known: [String: VerifiedProviderToken] = [:]
    private(set) var distinctTokens = 0

    init(keys: [String: ProviderKey]) { self.keys = keys }

    /// Checks form, key, team and signature, not the age.
    mutating func verify(_ compact: String) throws(APNsAnswer) -> VerifiedProviderToken {
        if let known = known[compact] { return known }
        let invalid = APNsAnswer("InvalidProviderToken")
        guard
            let received = ReceivedProviderToken(compact: compact),
            let header = try? StrictJSON(parsing: received.header),
            let claims = try? StrictJSON(parsing: received.claims),
            header["alg"]?.text == "ES256",
            let keyID = header["kid"]?.text,
            let key = keys[keyID],
            let teamID = claims["iss"]?.text,
            teamID == key.teamID,
            let issuedAt = issuedAt(claims),
            received.isSigned(by: key.publicKey)
        else { throw invalid }
        let token = VerifiedProviderToken(
            keyID: keyID,
            teamID: teamID,
            issuedAtSeconds: issuedAt
        )
        distinctTokens += 1
        // Old ones only cost a verification when they come back.
        if known.count >= 64 { known = [:] }
        known[compact] = token
        return token
    }

    private func issuedAt(_ claims: StrictJSON) -> Int64? {
        if let number = claims["iat"]?.safeInteger { return number }
        if isLenient, let text = claims["iat"]?.text { return Int64(text) }
        return nil
    }
}

/// The rules about provider tokens that hold for the life of one connection (Apple's pages
/// "Establishing a token-based connection" and "Sending notification requests").
struct ConnectionTokenRules: Sendable {
    /// A token is good for this long after its `iat`.
    static let lifetimeSeconds: Int64 = 3_600
    /// A connection may change its token no more often than this.
    static let updateSeconds: Int64 = 1_200

    private var teamID: String?
    private var keyID: String?
    private var current: VerifiedProviderToken?
    private var currentSince: Int64 = 0
    private var blockedUntil: Int64 = 0
    private var lastHeader: [UInt8] = []
    private var lastGood: VerifiedProviderToken?

    /// Judges the `authorization` field of a request at the given Unix second.
    mutating func check(
        _ headers: HTTP2HeaderList,
        now: Int64,
        environment: APNsEnvironment,
        verifier: inout ProviderTokenVerifier
    ) throws(APNsAnswer) -> VerifiedProviderToken {
        let token = try parse(headers, &verifier)
        guard now < token.issuedAtSeconds + Self.lifetimeSeconds,
            token.issuedAtSeconds < now + Self.lifetimeSeconds
        else { throw APNsAnswer("ExpiredProviderToken") }
        guard now >= blockedUntil else { throw APNsAnswer("TooManyProviderTokenUpdates") }
        if let teamID, teamID != token.teamID { throw APNsAnswer("InvalidProviderToken") }
        guard verifier.keys[token.keyID]?.environments.contains(environment) == true else {
            throw APNsAnswer("BadEnvironmentKeyIdInToken")
        }
        if let keyID, keyID != token.keyID { throw APNsAnswer("UnrelatedKeyIdInToken") }
        if let current, current != token {
            guard now >= currentSince + Self.updateSeconds else {
                // The connection stays unusable until enough time has passed.
                blockedUntil = currentSince + Self.updateSeconds
                throw APNsAnswer("TooManyProviderTokenUpdates")
            }
            self.current = token
            currentSince = now
        } else if current == nil {
            current = token
            currentSince = now
        }
        teamID = token.teamID
        keyID = token.keyID
        return token
    }

    private mutating func parse(
        _ headers: HTTP2HeaderList,
        _ verifier: inout ProviderTokenVerifier
    ) throws(APNsAnswer) -> VerifiedProviderToken {
        if let lastGood, headers.value(of: "authorization", equals: lastHeader) { return lastGood }
        guard let authorization = headers["authorization"] else {
            throw APNsAnswer("MissingProviderToken")
        }
        guard authorization.utf8.count > 7, authorization.prefix(7).lowercased() == "bearer " else {
            throw APNsAnswer("MissingProviderToken")
        }
        let token = try verifier.verify(String(authorization.dropFirst(7)))
        lastHeader = Array(authorization.utf8)
        lastGood = token
        return token
    }
}
