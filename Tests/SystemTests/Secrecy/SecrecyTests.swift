import Contracts
import FoundationEssentials
import HTTPClient
import TestKit
import Testing
import Topology

/// Content and keys stay out of everything that passes the Relay or is kept by Delivery; tokens stay
/// out of what operators read. Each search is shown to find its secret where it has to be.
@Suite("Secrecy", .serialized)
struct SecrecyTests {
    @Test("over the bus, the outbox on SQLite or PostgreSQL", arguments: [false, true])
    func overTheBus(onPostgreSQL: Bool) async throws {
        let url = onPostgreSQL ? try PostgreSQLServer.shared.get().database() : nil
        try await World.run { topology in
            Self.prepare(&topology)
            topology[.relay].presence = .behindFaultProxy
            topology[.delivery].environment["PUSHBUS_DELIVERY_STORE"] = url
        } body: { world in
            let run = SecrecyRun(world, outbox: url)
            try await run.check(relay: world.proxies(of: .relay))
        }
    }

    @Test("over POST /v1/send") func overHTTP() async throws {
        let port = try CurveLinks.freePort()
        let proxy = try FaultProxy(
            listen: .tcp(host: "127.0.0.1", port: 0),
            target: .tcp(host: "127.0.0.1", port: port)
        )
        guard case .tcp(_, let front) = proxy.address else { return }
        try await World.run { topology in
            Self.prepare(&topology)
            topology[.relay].environment["PUSHBUS_RELAY_HTTP"] = "127.0.0.1:\(port)"
            topology[.delivery].environment["PUSHBUS_DELIVERY_RELAY"] = ""
            topology[.delivery].environment["PUSHBUS_DELIVERY_RELAY_URL"] =
                "http://127.0.0.1:\(front)"
        } body: { world in
            try await SecrecyRun(world).check(relay: [proxy])
        }
        await proxy.stop()
    }

    private static func prepare(_ topology: inout Topology) {
        for service in [PushBusService.registration, .eventIngest, .delivery] {
            topology[service].presence = .behindFaultProxy
        }
        for service in PushBusService.allCases {
            topology[service].environment[service.variablePrefix + "LOG_LEVEL"] = "debug"
        }
    }
}

/// One run of an alert with marks in it, and the search through everything it left behind.
struct SecrecyRun {
    private let world: World
    private static let mark = "mark-7f3a91c5e2"

    /// The database of the outbox, nil when it is a file.
    private let database: String?

    init(_ world: World, outbox url: String? = nil) {
        self.world = world
        database = url?.split(separator: "/").last.map(String.init)
    }

    private static let alert = CloudEvent(
        id: "secrecy-1",
        source: "/system-tests",
        type: EventType.alertTriggered.rawValue,
        data: AlertEventData(
            ruleID: mark + "-rule-id",
            ruleName: mark + "-rule-name",
            serverID: mark + "-server-id",
            serverName: mark + "-server-name",
            sourceAddress: mark + "-address",
            startedAt: "2026-01-01T00:00:00Z"
        )
    )

    func check(relay: [FaultProxy]) async throws {
        let links = [PushBusService.registration, .eventIngest, .delivery].map {
            (service: $0, proxies: world.proxies(of: $0))
        }
        for proxy in relay + links.flatMap(\.proxies) { proxy.record() }
        let phone = try await world.phone("alice")
        let content = SecretForms("content", text: Self.mark)
        let key = SecretForms("content key", bytes: phone.contentKey.bytes)
        let token = SecretForms("device token", bytes: Hex.decode(phone.token.hex) ?? [])

        // Without Fanout the event waits in EventIngest, content and all.
        let supervisor = world.running.supervisor
        await supervisor.stop("fanout")
        let events = try await world.publish([Self.alert])
        #expect(content.isFound(in: try store(.eventIngest)))
        // Without the Relay the sealed message waits in Delivery.
        await supervisor.stop("relay")
        try supervisor.start("fanout")
        try await waitForRow(of: phone)
        let outbox = try store(.delivery)
        #expect(SecretForms("phone", text: phone.installation.text).isFound(in: outbox))
        for secret in [content, key, token] { expect(secret, notIn: outbox, "the outbox") }

        try supervisor.start("relay")
        let history = History(world: world, phones: [phone])
        try await history.check(events)
        try await checkTraffic(relay, links, content, key, token)
        let received = try await history.received(by: phone).map(\.payload).joined()
        for secret in [content, key] { expect(secret, notIn: Array(received.utf8), "APNs") }
        try await checkWords([content, key, token])
        try await waitForErasure(content)
        for secret in [content, key, token] {
            expect(secret, notIn: try store(.delivery), "the outbox")
        }
    }

    private func checkTraffic(
        _ relay: [FaultProxy],
        _ links: [(service: PushBusService, proxies: [FaultProxy])],
        _ content: SecretForms,
        _ key: SecretForms,
        _ token: SecretForms
    ) async throws {
        let toRelay = relay.flatMap(\.recorded)
        #expect(token.isFound(in: toRelay), "the relay link was recorded")
        for secret in [content, key] { expect(secret, notIn: toRelay, "what the Relay gets") }
        for (service, proxies) in links {
            let bytes = proxies.flatMap(\.recorded)
            switch service {
            case .registration: #expect(key.isFound(in: bytes), "audience pages hold keys")
            case .eventIngest: #expect(content.isFound(in: bytes), "publishes hold content")
            default:
                for secret in [content, key, token] {
                    expect(secret, notIn: bytes, "what Delivery gets")
                }
            }
        }
    }

    /// What operators read: receipts, metrics, logs and the command line.
    private func checkWords(_ secrets: [SecretForms]) async throws {
        var places: [String: [UInt8]] = [:]
        var isDebug = false
        for service in PushBusService.allCases {
            let status = try await world.ask(service, ServiceStatus())
            places["metrics of \(service)"] = Array(
                String(decoding: try JSONEncoder().encode(status), as: UTF8.self).utf8
            )
            let port = world.running.ports(of: service)["admin"] ?? 0
            let page = try await world.http.send(
                HTTPClientRequest(
                    method: "GET",
                    url: "http://127.0.0.1:\(port)/metrics",
                    maximumReplyBytes: 4 << 20
                )
            )
            #expect(page.status == 200)
            places["/metrics of \(service)"] = page.body
            let log = world.directory.file("\(service.rawValue).log")
            let text = try Data(contentsOf: URL(filePath: log))
            isDebug = isDebug || String(decoding: text, as: UTF8.self).contains("\"debug\"")
            places["log of \(service)"] = Array(text)
        }
        #expect(isDebug, "the logs hold debug lines")
        for words in Self.commands {
            let output = try await world.command(words)
            #expect(!output.isEmpty)
            places["pushbus " + words.joined(separator: " ")] = Array(output.utf8)
        }
        for (place, bytes) in places {
            for secret in secrets { expect(secret, notIn: bytes, place) }
        }
        let receipts = places["pushbus receipts"] ?? []
        #expect(SecretForms("phone", text: "phone-alice").isFound(in: receipts))
    }

    private static let commands = [
        ["status", "--metrics"], ["status", "--json"], ["receipts"], ["receipts", "--json"],
        ["outbox", "status"], ["user", "list"], ["audit"],
    ]

    private func expect(_ secret: SecretForms, notIn bytes: [UInt8], _ place: String) {
        #expect(!secret.isFound(in: bytes), "\(secret.name) is in \(place)")
    }

    /// The bytes of a service's database and of its write-ahead log, or all its tables as text.
    private func store(_ service: PushBusService) throws -> [UInt8] {
        if service == .delivery, let database {
            let tables = "SELECT schema_to_xml('pushbus_delivery', true, false, '')"
            return Array(try PostgreSQLServer.shared.get().sql(tables, in: database).utf8)
        }
        let path = world.directory.file("\(service.rawValue).sqlite")
        return [path, path + "-wal"].flatMap { path in
            (try? Data(contentsOf: URL(filePath: path))).map(Array.init) ?? []
        }
    }

    private func waitForRow(of phone: TestPhone) async throws {
        while try await History(world: world, phones: []).receipts(of: phone).isEmpty {
            try Task.checkCancellation()
        }
    }

    /// The event's content leaves the file and the write-ahead log once it is fanned out.
    private func waitForErasure(_ content: SecretForms) async throws {
        try await within(.seconds(30)) {
            while content.isFound(in: try store(.eventIngest)) {
                try Task.checkCancellation()
                _ = try await world.ask(.eventIngest, ServiceStatus())
            }
        }
    }
}
