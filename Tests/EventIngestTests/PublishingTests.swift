import Bus
import Contracts
import EventIngestCore
import EventIngestService
import FoundationEssentials
import Loop
import ServiceKit
import TestKit
import Testing
import ZeroMQ

/// What producers get to hear, over a real bus.
@Suite struct PublishingTests {
    @Test func answersEachEventOfABatch() async throws {
        let world = try IngestWorld()
        defer { world.runtime.stop() }
        let process = try await world.start()
        let client = try world.client()
        let results = try await client.publish(
            EventSamples.alert(id: "1"),
            EventSamples.alert(id: "1"),
            EventSamples.alert(id: "1", rule: "other"),
            EventSamples.alert(id: "2", dataChanges: ["rule_id": .integer(1)]),
            .string("no event"),
            EventSamples.alert(id: "3", changes: ["time": .string("soon")]),
            EventSamples.test()
        )
        #expect(
            results.map(\.status) == [
                .accepted, .duplicate, .conflict, .invalid, .invalid, .invalid, .accepted,
            ]
        )
        #expect(results.map(\.pointer) == [nil, nil, nil, "/data/rule_id", "", "/time", nil])
        #expect(results[3].reason?.isEmpty == false)
        #expect(results[0].eventID == results[1].eventID)
        let single = try await client.publish(EventSamples.alert(id: "1"))
        #expect(single.map(\.status) == [.duplicate])
        let status = try await client.ask(ServiceStatus(), timeout: .seconds(20))
        #expect(status.ready)
        #expect(
            status.metrics[#"pushbus_eventingest_published_total{status="invalid"}"#] == 3
        )
        client.stop()
        #expect(await process.stop() == 0)
    }

    @Test func makesOneEventOfAHundredConcurrentPublishes() async throws {
        let world = try IngestWorld()
        defer { world.runtime.stop() }
        let process = try await world.start()
        let client = try world.client()
        let statuses = try await withThrowingTaskGroup(of: PublishStatus?.self) { group in
            for _ in 0..<100 {
                group.addTask { try await client.publish(EventSamples.alert()).first?.status }
            }
            var statuses: [PublishStatus?: Int] = [:]
            for try await status in group { statuses[status, default: 0] += 1 }
            return statuses
        }
        #expect(statuses == [.accepted: 1, .duplicate: 99])
        #expect(
            try await client.ask(EventQuery(), timeout: .seconds(20)).events.count == 1
        )
        client.stop()
        await process.stop()
    }

    @Test func asksProducersToWaitWhenTooMuchIsOpen() async throws {
        let world = try IngestWorld()
        defer { world.runtime.stop() }
        var settings = world.settings
        settings.limits.openEvents = 1
        let process = try await world.start(settings)
        let client = try world.client()
        let results = try await client.publish(
            EventSamples.alert(id: "1"),
            EventSamples.alert(id: "2", rule: "other")
        )
        #expect(results.map(\.status) == [.accepted, .retryAfter])
        #expect(results.last?.retryAfterMilliseconds == 5000)
        client.stop()
        await process.stop()
    }

    @Test func takesABareFrame() async throws {
        let world = try IngestWorld()
        defer { world.runtime.stop() }
        let process = try await world.start()
        let bare = try await BareClient(world)
        let event = String(decoding: try EventSamples.alert().canonicalBytes(), as: UTF8.self)
        let answers = [
            try await bare.ask(event), try await bare.ask("[\(event),\(event)]"),
            try await bare.ask("[]"),
        ]
        let decoder = JSONDecoder()
        let statuses = try answers.map { answer in
            try decoder.decode(EventPublishAnswer.self, from: Data(answer)).results.map(\.status)
        }
        #expect(statuses == [[.accepted], [.duplicate, .duplicate], []])
        let nested = String(repeating: "[", count: 500) + String(repeating: "]", count: 500)
        for junk in [
            "", "{", nested, "[{\"data\":\(nested)}]", "null", "\u{0}", "[[[[",
            "{\"specversion\":1e999}",
        ] {
            #expect(try await !bare.ask(junk).isEmpty)
        }
        await bare.stop()
        #expect(await process.stop() == 0)
    }

    @Test func takesTheLargestBatch() async throws {
        let world = try IngestWorld()
        defer { world.runtime.stop() }
        let process = try await world.start()
        let client = try world.client()
        func events(_ count: Int) -> [JSONValue] {
            (0..<count).map { index in
                let note = JSONValue.string(String(repeating: "n", count: 1500))
                return EventSamples.alert(
                    id: "\(index)",
                    rule: "\(index)",
                    dataChanges: ["note": note]
                )
            }
        }
        let results = try await client.ask(
            EventPublish(events: events(512)),
            timeout: .seconds(20)
        ).results
        #expect(results.map(\.status) == Array(repeating: .accepted, count: 512))
        #expect(Set(results.map(\.eventID)).count == 512)
        await #expect(throws: BusFailure.self) {
            try await client.ask(EventPublish(events: events(513)), timeout: .seconds(20))
        }
        client.stop()
        await process.stop()
    }

    @Test func survivesEventsOfEveryShape() async throws {
        let world = try IngestWorld()
        defer { world.runtime.stop() }
        let process = try await world.start()
        let client = try world.client()
        var random = SplitMix(state: 11)
        for _ in 0..<40 {
            let events = (0..<Int.random(in: 0...50, using: &random)).map { _ in
                Self.mutated(&random)
            }
            let results = try await client.ask(
                EventPublish(events: events, isBatch: true),
                timeout: .seconds(20)
            ).results
            #expect(results.count == events.count)
            #expect(results.allSatisfy { $0.status != .invalid || $0.reason != nil })
        }
        #expect(try await client.publish(EventSamples.test()).map(\.status) == [.accepted])
        client.stop()
        #expect(await process.stop() == 0)
    }

    /// A valid event with one to three members replaced by anything.
    private static func mutated(_ random: inout SplitMix) -> JSONValue {
        var changes: [String: JSONValue?] = [:]
        var dataChanges: [String: JSONValue?] = [:]
        let names = [
            "specversion", "id", "source", "type", "time", "expirytime", "data", "data_base64",
            "datacontenttype", "traceparent", "subject", "dataschema", "x",
        ]
        let fields = ["rule_id", "rule_name", "server_id", "source_address", "started_at"]
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let value = Self.anything(&random, depth: 0)
            if Bool.random(using: &random), let name = names.randomElement(using: &random) {
                changes[name] = value
            } else if let field = fields.randomElement(using: &random) {
                dataChanges[field] = value
            }
        }
        return EventSamples.alert(
            id: "\(random.next())",
            changes: changes,
            dataChanges: dataChanges
        )
    }

    private static func anything(_ random: inout SplitMix, depth: Int) -> JSONValue {
        switch Int.random(in: 0...(depth < 4 ? 8 : 6), using: &random) {
        case 0: return .null
        case 1: return .bool(true)
        case 2: return .integer(Int64(bitPattern: random.next()))
        case 3: return .number(1e300)
        case 4: return .string("")
        case 5: return .string(String(repeating: "é\u{0}", count: 40))
        case 6: return .string("9999-12-31T23:59:59-23:59")
        case 7:
            return .array((0..<3).map { _ in anything(&random, depth: depth + 1) })
        default:
            return .object(["a/~b": anything(&random, depth: depth + 1)])
        }
    }

    @Test func lendsEachPrincipalItsSourcesOnly() async throws {
        let world = try IngestWorld()
        defer { world.runtime.stop() }
        let (server, monitor, registration) = (
            try CurveKeyPair.generate(), try CurveKeyPair.generate(), try CurveKeyPair.generate()
        )
        let list = BusAllowList([
            BusPrincipal(
                name: "monitor",
                key: monitor.publicKey,
                types: .init([EventPublish.type]),
                sources: .init(["/monitor/*"])
            ),
            BusPrincipal(name: "registration", key: registration.publicKey),
        ])
        var settings = world.settings
        settings.bind = BusEndpoint(.tcp("127.0.0.1", 0))
        settings.security = .curve(BusCurve(keys: server, authority: BusAuthority(list)))
        let process = try await world.start(settings)
        let port = try #require(process.context.ports.all["bus"])
        func client(_ keys: CurveKeyPair) throws -> BusClient {
            try world.client(
                BusEndpoint(.tcp("127.0.0.1", port)),
                security: .curve(BusCurve(keys: keys, serverKey: server.publicKey))
            )
        }
        let (integrator, peer) = (try client(monitor), try client(registration))
        let results = try await integrator.publish(
            EventSamples.alert(),
            EventSamples.alert(id: "2", rule: "b", changes: ["source": .string("/other")]),
            EventSamples.test(changes: ["source": .string("/monitor/1")])
        )
        #expect(results.map(\.status) == [.accepted, .invalid, .invalid])
        #expect(results.map(\.pointer) == [nil, "/source", "/type"])
        #expect(try await peer.publish(EventSamples.test()).map(\.status) == [.accepted])
        let id = try #require(results.first?.eventID)
        await #expect(throws: BusFailure.self) { try await integrator.event(id) }
        integrator.stop()
        peer.stop()
        await process.stop()
    }
}

/// Sends single frames without a header, as a CloudEvents producer may.
private final class BareClient: Sendable {
    private final class Held {
        var socket: ZeroMQSocket?
    }

    private let thread: SerialThread
    // Safety: read and written on `thread` only.
    private nonisolated(unsafe) let held = Held()

    init(_ world: IngestWorld) async throws {
        thread = try SerialThread(name: "bare")
        let (context, address) = (world.runtime.context, world.endpoint("eventingest").address)
        try await thread.run { [self] in
            let socket = try ZeroMQSocket(.dealer, context: context, options: ZeroMQSocketOptions())
            try socket.connect(address)
            held.socket = socket
        }
    }

    func ask(_ text: String) async throws -> [UInt8] {
        try await thread.run { [self] in
            guard let socket = held.socket else { return [] }
            try socket.waitUntil(write: true)
            _ = try socket.send(ZeroMQEnvelope(delimiter: false), [Array(text.utf8)])
            while true {
                try socket.waitUntil(write: false)
                let received = try socket.receive(limits: ZeroMQLimits(frames: 4, bytes: 1 << 20))
                if case .message(let message) = received { return message.frames.first ?? [] }
            }
        }
    }

    func stop() async {
        try? await thread.run { [self] in held.socket = nil }
        thread.stop()
    }
}
