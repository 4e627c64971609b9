import Testing
import Topology

@Suite
struct TopologyTests {
    private func topology() throws -> Topology {
        try Topology(directory: "/tmp/pb", executables: "/opt/pushbus")
    }

    @Test("Every service binds its endpoint and knows those it asks")
    func allReal() throws {
        let plans = try topology().processes()
        #expect(
            Set(plans.map(\.name)) == [
                "registration", "eventingest", "fanout", "delivery", "relay",
            ]
        )
        let delivery = try #require(plans.first { $0.name == "delivery" })
        #expect(delivery.executable == "/opt/pushbus/pushbus-delivery")
        #expect(
            delivery.environment == [
                "PUSHBUS_DELIVERY_BIND": "ipc:///tmp/pb/delivery.sock",
                "PUSHBUS_DELIVERY_REGISTRATION": "ipc:///tmp/pb/registration.sock",
                "PUSHBUS_DELIVERY_RELAY": "ipc:///tmp/pb/relay.sock",
                "PUSHBUS_DELIVERY_STORE": "sqlite:/tmp/pb/delivery.sqlite",
                "PUSHBUS_DELIVERY_ADMIN": "127.0.0.1:0",
                "PUSHBUS_DELIVERY_READY_FILE": "/tmp/pb/delivery.ready",
            ]
        )
        #expect(delivery.output == .file("/tmp/pb/delivery.log"))
        let relay = try #require(plans.first { $0.name == "relay" })
        #expect(relay.environment["PUSHBUS_RELAY_HTTP"] == "127.0.0.1:0")
        #expect(relay.environment["PUSHBUS_RELAY_STORE"] == nil)
    }

    @Test("Stubbed and absent services have no process but keep their endpoint")
    func stubs() throws {
        var topology = try topology()
        topology[.relay].presence = .stubbed
        topology[.registration].presence = .absent
        let plans = try topology.processes()
        #expect(Set(plans.map(\.name)) == ["eventingest", "fanout", "delivery"])
        let delivery = try #require(plans.first { $0.name == "delivery" })
        #expect(delivery.environment["PUSHBUS_DELIVERY_RELAY"] == "ipc:///tmp/pb/relay.sock")
        #expect(topology.endpoints(of: .relay) == ["ipc:///tmp/pb/relay.sock"])
    }

    @Test("Behind a fault proxy only the bound endpoint moves")
    func proxied() throws {
        var topology = try topology()
        topology[.fanout].presence = .behindFaultProxy
        topology[.fanout].instances = 2
        let plans = try topology.processes()
        let binds = plans.compactMap { $0.environment["PUSHBUS_FANOUT_BIND"] }
        #expect(
            binds == ["ipc:///tmp/pb/fanout-behind.sock", "ipc:///tmp/pb/fanout-2-behind.sock"]
        )
        let ingest = try #require(plans.first { $0.name == "eventingest" })
        #expect(
            ingest.environment["PUSHBUS_EVENTINGEST_FANOUT"]
                == "ipc:///tmp/pb/fanout.sock,ipc:///tmp/pb/fanout-2.sock"
        )
    }

    @Test("One database holds all stores, and then several Deliveries may run")
    func database() throws {
        var topology = try topology()
        topology.database = "postgresql://me@%2Frun/push"
        topology[.delivery].instances = 2
        topology[.eventIngest].environment = ["PUSHBUS_EVENTINGEST_STORE_FILE": "/secret"]
        let plans = try topology.processes()
        func store(_ name: String, _ variable: String) throws -> String? {
            try #require(plans.first { $0.name == name }).environment[variable]
        }
        for name in ["delivery", "delivery-2"] {
            #expect(try store(name, "PUSHBUS_DELIVERY_STORE") == topology.database)
        }
        #expect(try store("registration", "PUSHBUS_REGISTRATION_STORE") == topology.database)
        #expect(
            try store("registration", "PUSHBUS_REGISTRATION_MASTER_KEY_FILE")
                == "/tmp/pb/registration.key"
        )
        #expect(try store("eventingest", "PUSHBUS_EVENTINGEST_STORE") == nil)
        #expect(
            try store("fanout", "PUSHBUS_FANOUT_DELIVERY")
                == "ipc:///tmp/pb/delivery.sock,ipc:///tmp/pb/delivery-2.sock"
        )
        topology[.eventIngest].instances = 2
        #expect(throws: TopologyError.self) { try topology.processes() }
    }

    @Test("Given settings win, and what cannot run is refused with a reason")
    func limits() throws {
        var topology = try topology()
        topology.commonEnvironment = ["PUSHBUS_APP_PROFILE": "/p"]
        topology[.relay].environment = ["PUSHBUS_RELAY_HTTP": "127.0.0.1:8080"]
        let relay = try #require(try topology.processes().first { $0.name == "relay" })
        #expect(relay.environment["PUSHBUS_RELAY_HTTP"] == "127.0.0.1:8080")
        #expect(relay.environment["PUSHBUS_APP_PROFILE"] == "/p")

        topology[.delivery].instances = 2
        #expect(throws: TopologyError.self) { try topology.processes() }
        #expect(throws: TopologyError.self) {
            try Topology(directory: "/" + String(repeating: "d", count: 90), executables: "/opt")
        }
        #expect(throws: TopologyError.self) { try Topology(directory: "here", executables: "/opt") }
    }
}
