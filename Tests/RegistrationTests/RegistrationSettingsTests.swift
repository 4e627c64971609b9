import Contracts
import HTTPServer
import RegistrationCore
import RegistrationService
import ServiceKit
import Storage
import Testing

@Suite
struct RegistrationSettingsTests {
    private static let prefix = "PUSHBUS_REGISTRATION_"
    private static let complete = [
        "BIND": "ipc:///run/pushbus/registration.sock",
        "EVENTINGEST": "ipc:///run/pushbus/eventingest.sock",
        "DELIVERY": "ipc:///run/pushbus/delivery.sock",
        "STORE": "sqlite:/var/lib/pushbus/registration.db",
    ]

    @Test func hasDefaultsForTheRest() throws {
        let settings = try read(Self.complete)
        #expect(settings.deployment.text == "http://127.0.0.1:8080")
        #expect(settings.store.description == "sqlite:/var/lib/pushbus/registration.db")
        #expect(settings.masterKeyPath == "/var/lib/pushbus/registration.db.key")
        #expect(settings.lifetimes.accessSeconds == 900)
        #expect(settings.lifetimes.sessionSeconds == 2_592_000)
        #expect(settings.publicURL == nil)
        #expect(settings.http.tls == nil)
    }

    @Test func namesTheDeploymentAfterItsURL() throws {
        let named = try read(
            Self.complete.merging(["PUBLIC_URL": "https://push.example.org"]) { $1 }
        )
        #expect(named.deployment.text == "https://push.example.org")
        let moved = try read(
            Self.complete.merging([
                "PUBLIC_URL": "https://new.example.org",
                "DEPLOYMENT_ID": "https://push.example.org",
                "HTTP": "127.0.0.1:0",
            ]) { $1 }
        )
        #expect(moved.deployment.text == "https://push.example.org")
        #expect(moved.publicURL == "https://new.example.org")
    }

    @Test func reportsAllBadValuesTogether() throws {
        let bad = [
            "BIND": "nowhere", "STORE": "postgres://db", "HTTP": "8080",
            "PUBLIC_URL": "http://push.example.org", "ACCESS_TOKEN_LIFETIME": "1s",
            "TLS_KEY": "/etc/key.pem", "DELIVERY": "", "UNKNOWN": "x",
        ]
        let errors = #expect(throws: ConfigurationErrors.self) {
            try read(Self.complete.merging(bad) { $1 })
        }
        let named = Set(errors?.problems.map(\.variable) ?? [])
        #expect(named == Set(bad.keys.map { Self.prefix + $0 }))
    }

    @Test func usedTokensReachBackAMonth() throws {
        let shortest = try read(Self.complete.merging(["ACCESS_TOKEN_LIFETIME": "720s"]) { $1 })
        let seconds = (shortest.lifetimes.accessSeconds - 60) * Revocation.mostUsedTokens
        #expect(seconds >= 30 * 86_400)
        #expect(throws: ConfigurationErrors.self) {
            try read(Self.complete.merging(["ACCESS_TOKEN_LIFETIME": "719s"]) { $1 })
        }
    }

    @Test func aDoorToTheOutsideNeedsTLSOrADeclaredProxy() throws {
        let errors = #expect(throws: ConfigurationErrors.self) {
            try read(Self.complete.merging(["HTTP": "0.0.0.0:8080"]) { $1 })
        }
        #expect(errors?.problems.map(\.variable) == [Self.prefix + "HTTP"])
        _ = try read(
            Self.complete.merging(["HTTP": "0.0.0.0:8080", "TRUSTED_PROXY": "true"]) { $1 }
        )
    }

    @Test func wantsANameForADeploymentWithoutAFixedPort() {
        let errors = #expect(throws: ConfigurationErrors.self) {
            try read(Self.complete.merging(["HTTP": "127.0.0.1:0"]) { $1 })
        }
        #expect(errors?.problems.map(\.variable) == [Self.prefix + "DEPLOYMENT_ID"])
    }

    private func read(_ values: [String: String]) throws -> RegistrationSettings {
        var reader = EnvironmentReader(
            prefix: Self.prefix,
            values: Dictionary(
                uniqueKeysWithValues: values.map { (Self.prefix + $0.key, $0.value) }
            )
        )
        return try RegistrationSettings(&reader)
    }
}
