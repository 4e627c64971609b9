import APNsSimulator
import FoundationEssentials
import HTTP2
import PushBusCrypto
import Testing

/// Keys and teams of the developer account, and what ties a connection to them.
@Suite(.timeLimit(.minutes(1)))
struct AccountTests {
    private struct Key: Decodable {
        var key_id: String
        var team_id: String
        var private_key: String

        func jwt(_ fixture: SimulatorFixture, ageSeconds: Int64 = 0) throws -> String {
            let key = try ES256PrivateKey(pem: SecretBytes(Array(private_key.utf8)))
            return try fixture.jwt(
                keyID: key_id,
                teamID: team_id,
                ageSeconds: ageSeconds,
                key: key
            )
        }
    }

    private func makeKey(_ fixture: SimulatorFixture, _ body: String) async throws -> Key {
        let reply = try await fixture.call("POST", "/keys", body)
        #expect(reply.status == 201)
        return try JSONDecoder().decode(Key.self, from: Data(reply.body))
    }

    private func push(
        _ fixture: SimulatorFixture,
        _ jwt: String,
        topic: String = "app.example"
    ) throws -> HTTP2Request {
        try fixture.request("00ff", ["authorization": "bearer \(jwt)", "apns-topic": topic])
    }

    @Test("A second team: its own topics, never on a connection of the first")
    func teams() async throws {
        let fixture = try await SimulatorFixture()
        let other = try await makeKey(fixture, #"{"team_id":"OTHERTEAM1"}"#)
        let bundles = try await fixture.call(
            "PUT",
            "/teams/OTHERTEAM1",
            #"{"bundle_ids":["app.other"]}"#
        )
        #expect(bundles.status == 204)
        let jwt = try other.jwt(fixture)
        let theirs = try push(fixture, jwt, topic: "app.other")
        #expect(try await fixture.answer(theirs).status == 200)
        let foreign = try push(fixture, jwt)
        #expect(try await fixture.answer(foreign).reason == "TopicDisallowed")
        let connection = try await fixture.connect()
        #expect(await fixture.send(try fixture.request(), on: connection).status == 200)
        #expect(await fixture.send(theirs, on: connection).reason == "InvalidProviderToken")
        #expect(await fixture.send(try fixture.request(), on: connection).status == 200)
        connection.shutDown()
        await fixture.stop()
    }

    @Test("A topic-specific key sends for its topics, and shares no connection with a team's key")
    func topicKeys() async throws {
        let fixture = try await SimulatorFixture { $0.bundleIDs = ["app.example", "app.second"] }
        let key = try await makeKey(fixture, #"{"topics":["app.second"]}"#)
        // One token for both: a second one made in the next second would be an update too early.
        let jwt = try key.jwt(fixture)
        let narrow = try push(fixture, jwt, topic: "app.second")
        let connection = try await fixture.connect()
        #expect(await fixture.send(narrow, on: connection).status == 200)
        let foreign = try push(fixture, jwt)
        #expect(await fixture.send(foreign, on: connection).reason == "TopicDisallowed")
        let team = await fixture.send(try fixture.request(), on: connection)
        #expect(team.status == 403 && team.reason == "UnrelatedKeyIdInToken")
        connection.shutDown()
        let reverse = try await fixture.connect()
        #expect(await fixture.send(try fixture.request(), on: reverse).status == 200)
        #expect(await fixture.send(narrow, on: reverse).reason == "UnrelatedKeyIdInToken")
        reverse.shutDown()
        await fixture.stop()
    }

    @Test("A key of one environment fails in the other")
    func environments() async throws {
        let fixture = try await SimulatorFixture()
        let key = try await makeKey(fixture, #"{"environments":["production"]}"#)
        let request = try push(fixture, try key.jwt(fixture))
        #expect(try await fixture.answer(request).reason == "BadEnvironmentKeyIdInToken")
        #expect(try await fixture.answer(request, environment: "production").status == 200)
        await fixture.stop()
    }

    @Test("A second key of the team counts as another token, a revoked one as none")
    func secondKey() async throws {
        let fixture = try await SimulatorFixture()
        let key = try await makeKey(fixture, "{}")
        #expect(key.team_id == fixture.simulator.teamID)
        let second = try push(fixture, try key.jwt(fixture))
        #expect(try await fixture.answer(second).status == 200)
        let connection = try await fixture.connect()
        #expect(await fixture.send(try fixture.request(), on: connection).status == 200)
        let tooEarly = await fixture.send(second, on: connection)
        #expect(tooEarly.reason == "TooManyProviderTokenUpdates")
        connection.shutDown()
        let open = try await fixture.connect()
        #expect(await fixture.send(second, on: open).status == 200)
        #expect(try await fixture.call("DELETE", "/keys/\(key.key_id)").status == 204)
        #expect(await fixture.send(second, on: open).reason == "InvalidProviderToken")
        open.shutDown()
        await fixture.stop()
    }

    @Test("A bundle id that the team gets later needs a new connection")
    func laterBundleID() async throws {
        let fixture = try await SimulatorFixture()
        let connection = try await fixture.connect()
        #expect(await fixture.send(try fixture.request(), on: connection).status == 200)
        try await fixture.call(
            "PUT",
            "/teams/\(fixture.simulator.teamID)",
            #"{"bundle_ids":["app.example","app.new"]}"#
        )
        let new = try push(fixture, fixture.token, topic: "app.new")
        #expect(await fixture.send(new, on: connection).reason == "TopicDisallowed")
        #expect(try await fixture.answer(new).status == 200)
        connection.shutDown()
        await fixture.stop()
    }

    @Test("A connection's team, topics and tokens can be looked at")
    func history() async throws {
        struct Listing: Decodable {
            struct Connection: Decodable {
                struct Token: Decodable {
                    var key_id: String
                    var issued_at: Int64
                    var used_since: Int64
                }
                var team_id: String
                var topics: [String]
                var topic_specific: Bool
                var tokens: [Token]
            }
            var connections: [Connection]
        }
        let fixture = try await SimulatorFixture()
        let connection = try await fixture.connect()
        #expect(await fixture.send(try fixture.request(), on: connection).status == 200)
        try await fixture.call("POST", "/clock", #"{"advance_ms":1200000}"#)
        let later = try push(fixture, try fixture.jwt(ageSeconds: -1_200))
        #expect(await fixture.send(later, on: connection).status == 200)
        let reply = try await fixture.call("GET", "/connections")
        let listing = try JSONDecoder().decode(Listing.self, from: Data(reply.body))
        let only = try #require(listing.connections.first)
        #expect(only.team_id == fixture.simulator.teamID)
        #expect(only.topics == ["app.example"] && !only.topic_specific)
        #expect(only.tokens.map(\.key_id) == [fixture.simulator.keyID, fixture.simulator.keyID])
        #expect(only.tokens[1].used_since >= only.tokens[0].used_since + 1_200)
        connection.shutDown()
        await fixture.stop()
    }
}
