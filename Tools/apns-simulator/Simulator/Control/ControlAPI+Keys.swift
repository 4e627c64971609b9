import Contracts
import FoundationEssentials
import HTTPServer
import Loop
import PushBusCrypto

extension ControlAPI {
    // MARK: Keys

    private struct KeyWish: Decodable {
        var key_id: String?
        var team_id: String?
        var topics: Set<String>?
        var environments: Set<APNsEnvironment>?
    }

    func keys(_ request: HTTPRequest, id: String?) throws -> HTTPResponse {
        switch (request.head.method, id) {
        case ("GET", nil): return .json(200, keyList())
        case ("POST", nil): return try makeKey(request)
        case ("DELETE", let id?):
            guard state.content.withLock({ $0.verifier.revoke(id) }) else {
                throw ControlError(404, "there is no key \(id)")
            }
            return HTTPResponse(status: 204)
        default: throw ControlError(405, "keys take GET and POST, a key takes DELETE")
        }
    }

    private func keyList() -> [UInt8] {
        let keys = state.content.withLock { $0.verifier.keys }
        var json = CompactJSON()
        json.object {
            $0.key("keys")
            $0.array { json in
                for (id, key) in keys.sorted(by: { $0.key < $1.key }) {
                    json.object { Self.write(id, key, to: &$0) }
                }
            }
        }
        return json.bytes
    }

    /// Makes a key as the developer account would: of a team or for some topics, for one
    /// environment or both. The private key is in the answer and nowhere else.
    private func makeKey(_ request: HTTPRequest) throws -> HTTPResponse {
        let wish =
            request.body.isEmpty
            ? KeyWish() : try JSONDecoder().decode(KeyWish.self, from: Data(request.body))
        let id = try identifier(wish.key_id ?? SimulatorFiles.identifier(), "key_id")
        let team = try identifier(wish.team_id ?? facts.teamID, "team_id")
        if let topics = wish.topics { try checkTopics(topics) }
        guard wish.environments?.isEmpty != true else {
            throw ControlError(400, "environments holds sandbox, production or both")
        }
        let privateKey = try ES256PrivateKey.generate()
        let key = ProviderKey(
            teamID: team,
            publicKey: privateKey.publicKey,
            topics: wish.topics,
            environments: wish.environments ?? [.sandbox, .production]
        )
        guard state.content.withLock({ $0.verifier.add(key, id: id) }) else {
            throw ControlError(
                409,
                "there is room for \(ProviderTokenVerifier.maximumKeys) keys of"
                    + " \(ProviderTokenVerifier.maximumTeams) teams"
            )
        }
        let pem = try privateKey.pem().withBytes { (bytes: UnsafeRawBufferPointer) in
            String(decoding: bytes, as: UTF8.self)
        }
        var json = CompactJSON()
        json.object {
            Self.write(id, key, to: &$0)
            $0.field("private_key", pem)
        }
        return .json(201, json.bytes)
    }

    private static func write(_ id: String, _ key: ProviderKey, to json: inout CompactJSON) {
        json.field("key_id", id)
        json.field("team_id", key.teamID)
        json.key("environments")
        json.array { json in
            for environment in key.environments.map(\.rawValue).sorted() {
                json.value(environment)
            }
        }
        guard let topics = key.topics else { return }
        json.key("topics")
        json.array { json in for topic in topics.sorted() { json.value(topic) } }
    }

    // MARK: Teams

    private struct TeamWish: Decodable {
        var bundle_ids: Set<String>
    }

    func teams(_ request: HTTPRequest, id: String?) throws -> HTTPResponse {
        switch (request.head.method, id) {
        case ("GET", nil):
            let teams = state.content.withLock { $0.verifier.teams }
            var json = CompactJSON()
            json.object {
                for (team, bundleIDs) in teams.sorted(by: { $0.key < $1.key }) {
                    $0.key(team)
                    $0.array { json in for id in bundleIDs.sorted() { json.value(id) } }
                }
            }
            return .json(200, json.bytes)
        case ("PUT", let id?):
            let team = try identifier(id, "a team id")
            let wish = try JSONDecoder().decode(TeamWish.self, from: Data(request.body))
            try checkTopics(wish.bundle_ids)
            let isSet = state.content.withLock {
                $0.verifier.setBundleIDs(wish.bundle_ids, of: team)
            }
            guard isSet else {
                throw ControlError(
                    409,
                    "there is room for \(ProviderTokenVerifier.maximumTeams) teams"
                )
            }
            return HTTPResponse(status: 204)
        default: throw ControlError(405, "teams take GET, a team takes PUT")
        }
    }

    private func identifier(_ text: String, _ name: String) throws(ControlError) -> String {
        let isFine =
            text.utf8.count == 10
            && text.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0)
            }
        guard isFine else { throw ControlError(400, "\(name) is 10 capital letters and digits") }
        return text
    }

    private func checkTopics(_ topics: Set<String>) throws(ControlError) {
        let most = ProviderTokenVerifier.maximumTopics
        guard (1...most).contains(topics.count),
            topics.allSatisfy({ (1...255).contains($0.utf8.count) })
        else { throw ControlError(400, "1 to \(most) topics, each of 1 to 255 bytes") }
    }
}
