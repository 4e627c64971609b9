import DeliveryCore
import DeliveryService
import ServiceKit
import Storage
import TestKit
import Testing

@Suite struct DeliverySettingsTests {
    private func settings(_ more: [String: String]) throws(ConfigurationErrors) -> DeliverySettings
    {
        let values = [
            "BIND": "ipc:///run/pushbus/delivery.sock",
            "REGISTRATION": "ipc:///run/pushbus/registration.sock",
            "STORE": "sqlite:/var/lib/pushbus/delivery.db",
        ].merging(more) { _, new in new }
        var reader = EnvironmentReader(
            prefix: "PUSHBUS_DELIVERY_",
            values: Dictionary(
                uniqueKeysWithValues: values.map { ("PUSHBUS_DELIVERY_" + $0, $1) }
            )
        )
        return try DeliverySettings(&reader)
    }

    private static let socket = "ipc:///run/pushbus/relay.sock"

    @Test(
        arguments: [
            ([:], "RELAY"),
            (["RELAY": socket, "RELAY_URL": "https://relay.example"], "RELAY_URL"),
            (["RELAY_URL": "http://relay.example:80"], "RELAY_URL"),
            (["RELAY_URL": "https://relay.example", "RELAY_CA_FILE": "/none"], "RELAY_CA_FILE"),
            (["RELAY_URL": "https://relay.example", "RELAY_CONCURRENT": "0"], "RELAY_CONCURRENT"),
            (["RELAY": socket, "RELAY_CA_FILE": "/etc/passwd"], "RELAY_CA_FILE"),
            (["RELAY_URL": "https://relay.example", "RELAY_TIMEOUT": "21s"], "RELAY_TIMEOUT"),
        ] as [([String: String], String)]
    )
    func whatCannotBeIsNamed(_ values: [String: String], _ variable: String) throws {
        let errors = #expect(throws: ConfigurationErrors.self) { try settings(values) }
        let problems = try #require(errors).problems
        #expect(problems.contains { $0.variable == "PUSHBUS_DELIVERY_" + variable })
    }

    @Test func theRelayIsOnTheBusOrElsewhere() throws {
        guard case .bus(let source) = try settings(["RELAY": Self.socket]).relay else {
            Issue.record("not on the bus")
            return
        }
        _ = source
        let elsewhere = try settings(["RELAY_URL": "https://relay.example"])
        guard case .http(let address, nil, 16, .seconds(20)) = elsewhere.relay else {
            Issue.record("not elsewhere")
            return
        }
        #expect(address.sendURL == "https://relay.example/v1/send")
        // No more rows in hand than such a relay takes within the validity of a check.
        #expect((elsewhere.worker.batch, elsewhere.worker.window) == (16, 64))
    }

    @Test func theStoreMayBeAServer() throws {
        let url = "postgresql://me:geheim@localhost/push"
        let found = try settings(["RELAY": Self.socket, "STORE": url]).store
        guard case .postgresql(_) = found else {
            Issue.record("not PostgreSQL")
            return
        }
        #expect(found.description == "postgresql://me@localhost/push")
        for bad in ["mysql://x", "sqlite:relative", "postgresql://me:geheim@elsewhere/push"] {
            let errors = #expect(throws: ConfigurationErrors.self) {
                try settings(["RELAY": Self.socket, "STORE": bad])
            }
            #expect(!"\(try #require(errors))".contains("geheim"))
        }
    }
}
