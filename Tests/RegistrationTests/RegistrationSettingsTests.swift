import RegistrationService
import ServiceKit
import Testing

@Suite struct RegistrationSettingsTests {
    private func settings(_ more: [String: String]) throws {
        var values = [
            "BIND": "ipc:///run/pushbus/registration.sock",
            "EVENTINGEST": "ipc:///run/pushbus/eventingest.sock",
            "DELIVERY": "ipc:///run/pushbus/delivery.sock",
            "STORE": "sqlite:/var/lib/pushbus/registration.sqlite",
        ]
        values.merge(more) { _, new in new }
        let prefix = "PUSHBUS_REGISTRATION_"
        var reader = EnvironmentReader(
            prefix: prefix,
            values: Dictionary(uniqueKeysWithValues: values.map { (prefix + $0, $1) })
        )
        _ = try RegistrationSettings(&reader)
    }

    @Test func aDoorToTheOutsideNeedsTLSOrADeclaredProxy() throws {
        let errors = #expect(throws: ConfigurationErrors.self) {
            try settings(["HTTP": "0.0.0.0:8080"])
        }
        #expect(errors?.problems.map(\.variable) == ["PUSHBUS_REGISTRATION_HTTP"])
        try settings(["HTTP": "0.0.0.0:8080", "TRUSTED_PROXY": "true"])
        try settings(["HTTP": "127.0.0.1:8080"])
    }

    @Test func allBadValuesAreReportedTogether() {
        let errors = #expect(throws: ConfigurationErrors.self) {
            try settings([
                "HTTP": "nowhere", "STORE": "postgres:x", "TLS_KEY": "/k", "PUBLIC_URL": "ftp://x",
                "SESSION_LIFETIME": "1s", "TYPO": "1",
            ])
        }
        #expect(
            errors?.problems.map(\.variable).sorted()
                == ["HTTP", "PUBLIC_URL", "SESSION_LIFETIME", "STORE", "TLS_KEY", "TYPO"]
                .map { "PUSHBUS_REGISTRATION_" + $0 }
        )
    }
}
