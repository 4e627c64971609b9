import Contracts
import HTTP2
import PushBusCrypto

/// A signing key that the simulator knows, as Apple's developer account would.
struct ProviderKey: Sendable {
    var teamID: String
    var publicKey: ES256PublicKey
    /// Topics of a topic-specific key; nil for a key of the whole team.
    var topics: Set<String>?
    /// Keys made since February 2025 belong to one environment.
    var environments: Set<APNsEnvironment>
}

/// What a provider token says, once its signature has been verified.
struct VerifiedProviderToken: Hashable, Sendable {
    var keyID: String
    var teamID: String
    var issuedAtSeconds: Int64
}

/// The keys and teams of the developer account, and the provider tokens signed with them; a token
/// is verified once and remembered while it is in use.
struct ProviderTokenVerifier: Sendable {
    static let maximumKeys = 400
    static let maximumTeams = 100
    /// Topics of a key, bundle ids of a team.
    static let maximumTopics = 400

    private(set) var keys: [String: ProviderKey] = [:]
    /// Bundle ids by team.
    private(set) var teams: [String: Set<String>] = [:]
    /// Takes `iat` as a string too, as one public client sends it.
    var isLenient = false
    /// Raised when a key goes, so that connections verify their token again.
    private(set) var revision = 0
    private var known: [String: VerifiedProviderToken] = [:]
    private(set) var distinctTokens = 0

    /// Adds or replaces a key; false when there is no room for it or its team.
    mutating func add(_ key: ProviderKey, id: String) -> Bool {
        guard keys.count < Self.maximumKeys || keys[id] != nil,
            teams.count < Self.maximumTeams || teams[key.teamID] != nil
        else { return false }
        keys[id] = key
        teams[key.teamID, default: []].formUnion(key.topics ?? [])
        forgetTokens()
        return true
    }

    /// Revokes a key; false when there is none of that id.
    mutating func revoke(_ id: String) -> Bool {
        guard keys.removeValue(forKey: id) != nil else { return false }
        forgetTokens()
        return true
    }

    /// Says which bundle ids a team owns; false when there is no room for another team.
    mutating func setBundleIDs(_ bundleIDs: Set<String>, of team: String) -> Bool {
        guard teams.count < Self.maximumTeams || teams[team] != nil else { return false }
        teams[team] = bundleIDs
        return true
    }

    private mutating func forgetTokens() {
        known = [:]
        revision += 1
    }

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
