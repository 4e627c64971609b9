import Bus
import Contracts
import EventIngestCore
import EventIngestService
import FoundationEssentials
import HTTPClient
import HTTPServer
import Loop
import PushBusCrypto
import ServiceKit
import TestKit
import Testing

/// What integrators get to hear over real HTTP.
@Suite struct EventEndpointTests {
    /// A process with an HTTP port and one integrator, and a client of its own.
    private struct Door {
        let world: IngestWorld
        let process: IngestProcess
        let bus: BusClient
        let http: HTTPClient

        static let key = "pbk_of_the_monitor"
        static let monitor = Integrator(
            id: "monitor",
            name: "Monitoring",
            sources: ["/monitor/*", "/alertmanager/*"],
            types: ["org.pushbus.alert.*"],
            keyHashes: [SHA256.hex(key)]
        )

        init() async throws {
            world = try IngestWorld()
            var settings = world.settings
            settings.http = HTTPServerConfiguration()
            process = try await world.start(settings)
            bus = try world.client()
            http = try HTTPClient()
            _ = try await put(Self.monitor)
        }

        func put(_ integrator: Integrator) async throws -> PolicyChangeAnswer {
            try await bus.ask(
                PolicyChange(by: "tester", put: [PolicyItem(integrator)]),
                timeout: .seconds(20)
            )
        }

        func post(
            _ path: String = "/v1/events",
            _ body: [UInt8],
            type: String? = "application/cloudevents+json",
            key: String? = Door.key,
            method: String = "POST",
            headers: [(String, String)] = []
        ) async throws -> HTTPClientResponse {
            let port = try #require(process.context.ports.all["http"])
            var fields = headers
            if let type { fields.append(("Content-Type", type)) }
            if let key { fields.append(("Authorization", "Bearer \(key)")) }
            return try await http.send(
                HTTPClientRequest(
                    method: method,
                    url: "http://127.0.0.1:\(port)\(path)",
                    headers: fields,
                    body: body,
                    timeout: .seconds(20)
                )
            )
        }

        func post(_ event: JSONValue) async throws -> HTTPClientResponse {
            try await post("/v1/events", try event.canonicalBytes())
        }

        func stop() async {
            http.stop()
            bus.stop()
            await process.stop()
            world.runtime.stop()
        }

        static func with(_ body: (Door) async throws -> Void) async throws {
            let door = try await Door()
            do {
                try await body(door)
            } catch {
                await door.stop()
                throw error
            }
            await door.stop()
        }
    }

    private func results(_ response: HTTPClientResponse) throws -> [EventPublishAnswer.Result] {
        try JSONDecoder().decode(EventPublishAnswer.self, from: Data(response.body)).results
    }

    @Test func answersSingleEventsByStatus() async throws {
        try await Door.with { door in
            let accepted = try await door.post(EventSamples.alert())
            #expect(accepted.status == 200)
            #expect(try results(accepted).map(\.status) == [.accepted])
            let again = try await door.post(EventSamples.alert())
            #expect(again.status == 200)
            #expect(try results(again).map(\.status) == [.duplicate])
            let conflict = try await door.post(EventSamples.alert(rule: "other"))
            #expect(conflict.status == 409)
            let invalid = try await door.post(EventSamples.alert(changes: ["id": .integer(1)]))
            #expect(invalid.status == 400)
            #expect(try results(invalid).first?.pointer == "/id")
            // The same event over the bus is known.
            let bus = try await door.bus.publish(EventSamples.alert())
            #expect(bus.map(\.status) == [.duplicate])
        }
    }

    @Test func answersABatchEventByEvent() async throws {
        try await Door.with { door in
            let batch = JSONValue.array([EventSamples.alert(), .string("no event")])
            let type = "application/cloudevents-batch+json; charset=utf-8"
            let response = try await door.post(
                "/v1/events",
                try batch.canonicalBytes(),
                type: type
            )
            #expect(response.status == 200)
            #expect(try results(response).map(\.status) == [.accepted, .invalid])
            let many = JSONValue.array(Array(repeating: .null, count: 513))
            let tooMany = try await door.post("/v1/events", try many.canonicalBytes(), type: type)
            #expect(tooMany.status == 413)
            let single = try await door.post(
                "/v1/events",
                try EventSamples.alert().canonicalBytes(),
                type: type
            )
            #expect(single.status == 400)
        }
    }

    @Test func takesBinaryMode() async throws {
        try await Door.with { door in
            let headers = [
                ("ce-specversion", "1.0"), ("ce-id", "b1"), ("ce-source", "/monitor/1"),
                ("ce-type", EventType.alertTriggered.rawValue),
            ]
            let data = try (EventSamples.alert()["data"] ?? .null).canonicalBytes()
            let response = try await door.post(
                "/v1/events",
                data,
                type: "application/json",
                headers: headers
            )
            #expect(response.status == 200)
            #expect(try results(response).map(\.status) == [.accepted])
            let text = try await door.post(
                "/v1/events",
                Array("no json".utf8),
                type: "text/plain",
                headers: headers
            )
            #expect(text.status == 400)
            #expect(try results(text).first?.pointer == "/data")
        }
    }

    @Test func refusesWhatItDoesNotKnow() async throws {
        try await Door.with { door in
            let event = try EventSamples.alert().canonicalBytes()
            let cases: [(String, String, String?, String?, Int)] = [
                ("/v1/other", "POST", "application/cloudevents+json", Door.key, 404),
                ("/v1/events", "GET", nil, Door.key, 405),
                ("/v1/events", "POST", "application/cloudevents+json", nil, 401),
                ("/v1/events", "POST", "application/cloudevents+json", "wrong", 401),
                ("/v1/events", "POST", "application/json", Door.key, 415),
                ("/v1/events", "POST", nil, Door.key, 415),
                ("/v1/hooks/alertmanager", "POST", "text/plain", Door.key, 415),
            ]
            for (path, method, type, key, status) in cases {
                let response = try await door.post(
                    path,
                    method == "GET" ? [] : event,
                    type: type,
                    key: key,
                    method: method
                )
                #expect(response.status == status, "\(method) \(path)")
                #expect(response.header("Content-Type") == "application/json")
            }
            let large = try await door.post(
                "/v1/events",
                [UInt8](repeating: 0x20, count: BusLimits.messageBytes + 1)
            )
            #expect(large.status == 413)
            #expect(
                door.process.count(#"pushbus_eventingest_published_total{status="accepted"}"#) == 0
            )
        }
    }

    @Test func holdsAnIntegratorToItsSourcesAndTypes() async throws {
        try await Door.with { door in
            let foreign = EventSamples.alert(changes: ["source": .string("/billing")])
            let refused = try await door.post(foreign)
            #expect(refused.status == 400)
            #expect(try results(refused).first?.pointer == "/source")
            #expect(try await door.post(EventSamples.test()).status == 400)
            var narrowed = Door.monitor
            narrowed.types = ["org.pushbus.alert.resolved.v1"]
            _ = try await door.put(narrowed)
            #expect(try await door.post(EventSamples.alert()).status == 400)
            narrowed.isEnabled = false
            _ = try await door.put(narrowed)
            #expect(try await door.post(EventSamples.alert()).status == 401)
            _ = try await door.put(Door.monitor)
            #expect(try await door.post(EventSamples.alert()).status == 200)
            let change = PolicyChange(by: "t", remove: [PolicyKey(.integrator, "monitor")])
            _ = try await door.bus.ask(change, timeout: .seconds(20))
            #expect(try await door.post(EventSamples.alert()).status == 401)
        }
    }

    @Test func takesAlertmanagersNotifications() async throws {
        try await Door.with { door in
            func notify(_ payload: JSONValue) async throws -> HTTPClientResponse {
                try await door.post(
                    "/v1/hooks/alertmanager",
                    try payload.canonicalBytes(),
                    type: "application/json"
                )
            }
            let firing = AlertmanagerPayloadTests.alert()
            let other = AlertmanagerPayloadTests.alert(fingerprint: "2")
            let first = try await notify(AlertmanagerPayloadTests.payload(firing))
            #expect(first.status == 200)
            let group = try await notify(AlertmanagerPayloadTests.payload(firing, other))
            #expect(try results(group).map(\.status) == [.duplicate, .accepted])
            let resolved = AlertmanagerPayloadTests.alert("resolved")
            let ended = try await notify(AlertmanagerPayloadTests.payload(resolved, other))
            #expect(try results(ended).map(\.status) == [.accepted, .duplicate])
            let broken = AlertmanagerPayloadTests.payload(firing, .null)
            let mixed = try await notify(broken)
            #expect(mixed.status == 400)
            #expect(try results(mixed).map(\.status) == [.duplicate, .invalid])
            #expect(try await notify(.array([])).status == 400)
            let events = try await door.bus.ask(EventQuery(), timeout: .seconds(20)).events
            #expect(events.count == 3)
        }
    }

    @Test func refusesAZoneThatNobodyKnows() async throws {
        try await Door.with { door in
            let window = MaintenanceWindow(
                id: "w",
                name: "w",
                weekly: .init(
                    zone: "Mars/Olympus",
                    days: [.monday],
                    from: try MaintenanceTests.clock("01:00"),
                    until: try MaintenanceTests.clock("02:00")
                )
            )
            do throws(BusFailure) {
                let change = PolicyChange(by: "t", put: [PolicyItem(window)])
                _ = try await door.bus.ask(change, timeout: .seconds(20))
                Issue.record("accepted")
            } catch {
                guard case .rejected(let reject) = error else {
                    Issue.record("\(error)")
                    return
                }
                #expect(reject.pointer == "/put/0/maintenance/weekly/zone")
            }
        }
    }
}
