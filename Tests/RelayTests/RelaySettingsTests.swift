import Contracts
import HTTPServer
import RelayService
import ServiceKit
import TestKit
import Testing

@Suite("Settings of the Relay")
struct RelaySettingsTests {
    private func settings(_ variables: [String: String]) throws -> RelaySettings {
        var reader = EnvironmentReader(
            prefix: "PUSHBUS_RELAY_",
            values: Dictionary(
                uniqueKeysWithValues: variables.map {
                    ($0.hasPrefix("PUSHBUS_") ? $0 : "PUSHBUS_RELAY_\($0)", $1)
                }
            )
        )
        return try RelaySettings(&reader)
    }

    @Test("Reference numbers are the defaults")
    func defaults() throws {
        let settings = try settings(["HTTP": "127.0.0.1:0"])
        #expect(settings.limits.concurrent == 32)
        #expect(settings.limits.perSource == 120)
        #expect(settings.limits.perTarget == 60)
        #expect(settings.limits.perInstance == 600)
        #expect(settings.limits.entries == 4_096)
        #expect(settings.http?.limits.concurrentRequests == 256)
        #expect(settings.http?.limits.connections == 512)
        #expect(settings.http?.limits.stopGrace == .seconds(12))
        #expect(settings.profile == .reference)
        #expect(settings.apns.environments == [.sandbox, .production])
        #expect(
            settings.apns.origins[.production] == APNsOrigin(host: "api.push.apple.com", port: 443)
        )
        #expect(
            settings.apns.origins[.sandbox]
                == APNsOrigin(host: "api.sandbox.push.apple.com", port: 443)
        )
        #expect(settings.bind == nil)
    }

    @Test("The server has room for all sends that are allowed and waits for all answers")
    func room() throws {
        let settings = try settings([
            "HTTP": "127.0.0.1:0", "LIMIT_CONCURRENT": "1024", "APNS_DEADLINE": "15s",
        ])
        let limits = try #require(settings.http?.limits)
        #expect(limits.concurrentRequests > 1_024)
        #expect(limits.connections > limits.concurrentRequests)
        #expect(limits.stopGrace > settings.apns.deadline)
        #expect(limits.requestTimeout > settings.apns.deadline)
    }

    @Test("All bad values are reported together")
    func together() {
        let errors = #expect(throws: ConfigurationErrors.self) {
            try settings([
                "HTTP": "nowhere", "LIMIT_SOURCE": "0", "APNS_ENVIRONMENTS": "sandbox,sandbox",
                "APNS_SANDBOX_ORIGIN": "https://x", "APNS_CA_FILE": "/nonexistent",
                "HTTP_KEY_FILE": "/k", "APNS_CONNECTIONS": "99", "TYPO": "1",
                "LIMIT_BODY": "4097", "LIMIT_HORIZON": "86401",
                "PUSHBUS_APP_PROFILE": "/nonexistent",
            ])
        }
        let names = Set(errors?.problems.map(\.variable) ?? [])
        for name in [
            "PUSHBUS_RELAY_HTTP", "PUSHBUS_RELAY_LIMIT_SOURCE", "PUSHBUS_RELAY_APNS_ENVIRONMENTS",
            "PUSHBUS_RELAY_APNS_SANDBOX_ORIGIN", "PUSHBUS_RELAY_APNS_CA_FILE",
            "PUSHBUS_RELAY_HTTP_KEY_FILE", "PUSHBUS_RELAY_APNS_CONNECTIONS", "PUSHBUS_RELAY_TYPO",
            "PUSHBUS_APP_PROFILE", "PUSHBUS_RELAY_LIMIT_BODY", "PUSHBUS_RELAY_LIMIT_HORIZON",
        ] {
            #expect(names.contains(name))
        }
    }

    @Test("A door to the outside needs TLS or a declared proxy")
    func exposed() throws {
        let errors = #expect(throws: ConfigurationErrors.self) {
            try settings(["HTTP": "0.0.0.0:0"])
        }
        #expect(errors?.problems.map(\.variable) == ["PUSHBUS_RELAY_HTTP"])
        _ = try settings(["HTTP": "0.0.0.0:0", "HTTP_TRUSTED_PROXY": "true"])
    }

    @Test("Neither interface set is an error")
    func nothing() {
        #expect(throws: ConfigurationErrors.self) { try settings([:]) }
    }

    @Test(
        "Credentials that are wrong name the part",
        arguments: [
            (["APNS_TEAM_ID": "short"], "team id"), (["APNS_KEY_ID": "lowercase1"], "key id"),
            (["APNS_TOPIC": "a/b"], "topic"), (["APNS_KEY_FILE": "/nonexistent"], "key file"),
        ]
    )
    func credentials(change: [String: String], part: String) throws {
        let files = try RelayFiles()
        var variables = [
            "HTTP": "127.0.0.1:0", "APNS_TEAM_ID": "TEAM123456", "APNS_KEY_ID": "KEY1234567",
            "APNS_TOPIC": "app.example", "APNS_KEY_FILE": files.signingKey,
        ]
        _ = try settings(variables).apns.credentials()
        variables.merge(change) { _, new in new }
        let settings = try settings(variables)
        let error = #expect(throws: (any Error).self) { try settings.apns.credentials() }
        #expect(error.map { "\($0)".contains(part) } == true)
    }
}
