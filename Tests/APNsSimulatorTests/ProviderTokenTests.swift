import APNsSimulator
import Contracts
import FoundationEssentials
import Glibc
import HTTP2
import PushBusCrypto
import TestKit
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ProviderTokenTests {
    @Test("what is no valid token")
    func invalid() async throws {
        let fixture = try await SimulatorFixture()
        let stranger = try ES256PrivateKey.generate()
        let good = try fixture.jwt()
        let cases: [(String?, String)] = [
            (nil, "MissingProviderToken"), ("bearer", "MissingProviderToken"),
            ("basic \(good)", "MissingProviderToken"), ("bearer a.b", "InvalidProviderToken"),
            ("bearer \(good.dropLast(4))AAAA", "InvalidProviderToken"),
            ("bearer \(try fixture.jwt(key: stranger))", "InvalidProviderToken"),
            ("bearer \(try fixture.jwt(keyID: "ABCDEFGHIJ"))", "InvalidProviderToken"),
            ("bearer \(try fixture.jwt(teamID: "ABCDEFGHIJ"))", "InvalidProviderToken"),
            ("bearer \(try fixture.jwt(ageSeconds: 3_601))", "ExpiredProviderToken"),
            ("bearer \(try fixture.jwt(ageSeconds: -3_700))", "ExpiredProviderToken"),
        ]
        for (authorization, reason) in cases {
            let answer = try await fixture.answer(
                try fixture.request("00ff", ["authorization": authorization])
            )
            #expect(answer.status == 403 && answer.reason == reason, "\(reason)")
        }
        await fixture.stop()
    }

    @Test("a capital Bearer and a DER signature are taken, as by Apple")
    func variants() async throws {
        let fixture = try await SimulatorFixture()
        let token = try fixture.jwt()
        let capital = try fixture.request("00ff", ["authorization": "Bearer \(token)"])
        #expect(try await fixture.answer(capital).status == 200)
        let signed = token.split(separator: ".").prefix(2).joined(separator: ".")
        let der = Base64.encodeURL(try fixture.key.signDER(Array(signed.utf8)))
        let derived = try fixture.request("00ff", ["authorization": "bearer \(signed).\(der)"])
        #expect(try await fixture.answer(derived).status == 200)
        await fixture.stop()
    }

    @Test("iat as a string needs the lenient mode")
    func lenient() async throws {
        let fixture = try await SimulatorFixture()
        let header = #"{"alg":"ES256","kid":"\#(fixture.simulator.keyID)"}"#
        let claims = #"{"iss":"\#(fixture.simulator.teamID)","iat":"\#(time(nil))"}"#
        let signed =
            "\(Base64.encodeURL(Array(header.utf8))).\(Base64.encodeURL(Array(claims.utf8)))"
        let token = "\(signed).\(Base64.encodeURL(try fixture.key.sign(Array(signed.utf8))))"
        let request = try fixture.request("00ff", ["authorization": "bearer \(token)"])
        #expect(try await fixture.answer(request).reason == "InvalidProviderToken")
        try await fixture.call("PATCH", "/settings", #"{"lenient_tokens":true}"#)
        #expect(try await fixture.answer(request).status == 200)
        await fixture.stop()
    }

    @Test("a token ages while the connection lives; a new one too early blocks the connection")
    func updates() async throws {
        let fixture = try await SimulatorFixture()
        let connection = try await fixture.connect()
        let first = try fixture.request("00ff", ["authorization": "bearer \(try fixture.jwt())"])
        let second = try fixture.request(
            "00ff",
            ["authorization": "bearer \(try fixture.jwt(ageSeconds: 60))"]
        )
        #expect(await fixture.send(first, on: connection).status == 200)
        #expect(await fixture.send(first, on: connection).status == 200)
        let tooEarly = await fixture.send(second, on: connection)
        #expect(tooEarly.status == 429 && tooEarly.reason == "TooManyProviderTokenUpdates")
        // The connection stays unusable, even with the token it had.
        #expect(await fixture.send(first, on: connection).status == 429)
        // Another connection may use either.
        #expect(try await fixture.answer(second).status == 200)
        try await fixture.call("POST", "/clock", #"{"advance_ms":1200000}"#)
        #expect(await fixture.send(second, on: connection).status == 200)
        try await fixture.call("POST", "/clock", #"{"advance_ms":2500000}"#)
        #expect(await fixture.send(second, on: connection).reason == "ExpiredProviderToken")
        connection.shutDown()
        await fixture.stop()
    }

    @Test("keys and CA survive a restart")
    func restart() async throws {
        let fixture = try await SimulatorFixture()
        let folder = fixture.directory.file("apns")
        let before = try Data(contentsOf: URL(filePath: "\(folder)/credentials.json"))
        let authority = try Data(contentsOf: URL(filePath: "\(folder)/ca.pem"))
        await fixture.stop()
        let again = try await SimulatorFixture { $0.directory = folder }
        #expect(again.simulator.keyID == fixture.simulator.keyID)
        #expect(try Data(contentsOf: URL(filePath: "\(folder)/credentials.json")) == before)
        #expect(try Data(contentsOf: URL(filePath: "\(folder)/ca.pem")) == authority)
        #expect(try await again.answer(try again.request()).status == 200)
        await again.stop()
    }
}
