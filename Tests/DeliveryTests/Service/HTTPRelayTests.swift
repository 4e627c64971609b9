import Contracts
import DeliveryCore
import DeliveryService
import HTTP2
import HTTPServer
import Loop
import ServiceKit
import TLS
import TestKit
import Testing

/// What is particular to a relay over HTTPS.
@Suite(.serialized, .timeLimit(.minutes(2))) struct HTTPRelayTests {
    private func withRelay(
        settings: [String: String] = [:],
        _ body: (DeliveryWorld, HTTPSRelay) async throws -> Void
    ) async throws {
        let folder = try TemporaryDirectory()
        let world = try DeliveryWorld(folder: folder.path)
        let registration = try await world.startRegistration()
        let endpoint = HTTPSRelay(world.relay)
        let relay = try await world.startRelay(over: endpoint)
        let delivery = try await world.startDelivery(
            relay.settings.merging(settings) { _, new in new }
        )
        var failure: (any Error)?
        do { try await body(world, endpoint) } catch { failure = error }
        try await delivery.stop()
        await relay.stop()
        try await registration.stop()
        if let failure { throw failure }
    }

    private static func messages(_ count: Int) throws -> [RelaySend.Message] {
        let token = try #require(DeviceToken("00ff"))
        return (0..<count).map { number in
            RelaySend.Message(
                deviceToken: token,
                environment: .sandbox,
                eventID: Samples.event(number),
                expiresAt: SystemTime().wall.second.adding(seconds: 600),
                envelope: Samples.envelope(number),
                isYoung: false
            )
        }
    }

    /// Waits until the only row has that reason.
    private func wait(_ world: DeliveryWorld, for reason: String) async throws {
        try await within(.seconds(20)) {
            while try await world.receipts().first?.reason != reason {}
        }
    }

    @Test func traceContextAndCredentialsStayHere() async throws {
        try await withRelay { world, endpoint in
            _ = try await world.ask(Samples.fresh(1, 0..<1, world.time))
            try await world.wait(for: 1, .accepted)
            let head = try #require(endpoint.state.value.heads.first)
            let names = Set(head.headers.fields.map { $0.name.lowercased() })
            #expect(
                names == ["host", "user-agent", "accept", "content-type", "content-length"]
            )
        }
    }

    @Test func noMoreRequestsAtATimeThanAllowed() async throws {
        try await withRelay(settings: ["PUSHBUS_DELIVERY_RELAY_CONCURRENT": "4"]) {
            world,
            endpoint in
            let gate = StopSignal()
            world.relay.answer { _ in
                await gate.wait()
                return .accepted
            }
            _ = try await world.ask(Samples.fresh(1, 0..<40, world.time))
            await endpoint.state.wait { $0.current == 4 }
            gate.trigger()
            try await world.wait(for: 40, .accepted)
            #expect(endpoint.state.value.most == 4)
        }
    }

    @Test func aRelayThatAsksToWaitIsLeftAlone() async throws {
        try await withRelay(settings: ["PUSHBUS_DELIVERY_RELAY_CONCURRENT": "4"]) {
            world,
            endpoint in
            world.relay.answer { _ in
                .init(
                    outcome: .retryable,
                    reason: "RateLimited",
                    scope: .relay,
                    exposure: .none,
                    retryAfter: 600_000,
                    status: 429
                )
            }
            _ = try await world.ask(Samples.fresh(1, 0..<30, world.time))
            // More rows than there can be requests at a time have come back.
            try await within(.seconds(20)) {
                while try await world.receipts().count(where: { $0.reason != nil }) < 8 {}
            }
            #expect(endpoint.state.value.heads.count <= 4)
            #expect(try await world.receipts().allSatisfy { $0.attempts == 0 })
        }
    }

    @Test func requestsShareAConnectionWhenHTTP2IsOffered() async throws {
        let folder = try TemporaryDirectory()
        let files = try RelayCertificate.write(to: folder.path)
        let loop = try HTTP2Loop(name: "relay")
        let relay = MultiplexedRelay()
        let server = HTTP2Server(
            HTTP2Server.Configuration(),
            tls: try .server(
                certificateChainFile: files.certificatePath,
                privateKeyFile: files.keyPath,
                http2: true
            ),
            loop: loop,
            handler: relay
        )
        let port = try await server.start()
        let world = try DeliveryWorld(folder: folder.path)
        let registration = try await world.startRegistration()
        let delivery = try await world.startDelivery([
            "PUSHBUS_DELIVERY_RELAY": "",
            "PUSHBUS_DELIVERY_RELAY_URL": "https://127.0.0.1:\(port)",
            "PUSHBUS_DELIVERY_RELAY_CA_FILE": folder.file("ca.pem"),
        ])
        _ = try await world.ask(Samples.fresh(1, 0..<60, world.time))
        try await world.wait(for: 60, .accepted)
        #expect(relay.state.value.tokens.count == 60)
        #expect(relay.state.value.connections == 1)
        try await delivery.stop()
        await server.stop()
        loop.stop()
        try await registration.stop()
    }

    @Test func whatWasWrittenInTimeMayWaitForItsReplyOverHTTP2() async throws {
        let folder = try TemporaryDirectory()
        let files = try RelayCertificate.write(to: folder.path)
        let loop = try HTTP2Loop(name: "relay")
        let server = HTTP2Server(
            HTTP2Server.Configuration(),
            tls: try .server(
                certificateChainFile: files.certificatePath,
                privateKeyFile: files.keyPath,
                http2: true
            ),
            loop: loop,
            handler: MultiplexedRelay(delay: .milliseconds(600))
        )
        let port = try await server.start()
        let relay = try HTTPRelay(
            try #require(RelayAddress("https://127.0.0.1:\(port)")),
            caFile: folder.file("ca.pem"),
            concurrent: 4,
            timeout: .seconds(20),
            time: SystemTime(),
            log: .silent
        )
        let verdicts = Observed([RelayVerdicts.Verdict]())
        _ = await relay.send(
            RelaySend(messages: try Self.messages(4)),
            handOver: .milliseconds(400),
            timeout: .seconds(25)
        ) { news in verdicts.update { $0 += news.verdicts } }
        #expect(verdicts.value.count { $0.outcome == .accepted } == 4)
        relay.stop()
        await server.stop()
        loop.stop()
    }

    @Test func redirectsAreNotFollowed() async throws {
        try await withRelay { world, endpoint in
            endpoint.state.update {
                $0.override = HTTPResponse(status: 307, headers: [("Location", "/elsewhere")])
            }
            _ = try await world.ask(Samples.fresh(1, 0..<1, world.time))
            try await wait(world, for: "RelayStatus307")
            #expect(endpoint.state.value.heads.allSatisfy { $0.path == "/v1/send" })
            endpoint.state.update { $0.override = nil }
            try await world.wait(for: 1, .accepted)
            #expect(try await world.receipts().allSatisfy { $0.attempts == 1 })
        }
    }

    @Test func anUnknownAuthorityGetsNothing() async throws {
        let other = try TemporaryDirectory()
        _ = try RelayCertificate.write(to: other.path)
        let settings = ["PUSHBUS_DELIVERY_RELAY_CA_FILE": other.file("ca.pem")]
        try await withRelay(settings: settings) { world, endpoint in
            _ = try await world.ask(Samples.fresh(1, 0..<1, world.time))
            try await wait(world, for: "RelayUnreachable")
            #expect(endpoint.state.value.heads.isEmpty)
            #expect(try await world.receipts().allSatisfy { $0.attempts == 0 })
        }
    }

    @Test func aReplyThatDoesNotComeIsWaitedForAsLongAsSet() async throws {
        let gate = StopSignal()
        try await withRelay(settings: ["PUSHBUS_DELIVERY_RELAY_TIMEOUT": "300ms"]) { world, _ in
            world.relay.answer { _ in
                await gate.wait()
                return .accepted
            }
            _ = try await world.ask(Samples.fresh(1, 0..<1, world.time))
            try await wait(world, for: "RelayNoVerdict")
            #expect(try await world.receipts().allSatisfy { $0.attempts == 1 })
            gate.trigger()
            try await world.wait(for: 1, .accepted)
        }
    }

    @Test func nothingIsWrittenOnceTheCheckIsTooOld() async throws {
        // The system completes the connection, and nobody ever shakes hands.
        let listener = try ListeningSocket()
        let relay = try HTTPRelay(
            try #require(RelayAddress("https://127.0.0.1:\(listener.port)")),
            caFile: nil,
            concurrent: 4,
            timeout: .seconds(20),
            time: SystemTime(),
            log: .silent
        )
        let messages = try Self.messages(8)
        let verdicts = Observed([RelayVerdicts.Verdict]())
        let start = SystemTime().monotonic
        let end = await relay.send(
            RelaySend(messages: messages),
            handOver: .milliseconds(200),
            timeout: .seconds(25)
        ) { news in verdicts.update { $0 += news.verdicts } }
        #expect(end == .complete)
        #expect(SystemTime().monotonic - start < .seconds(4))
        #expect(verdicts.value.count == 8)
        #expect(verdicts.value.allSatisfy { $0.exposure == .none && $0.outcome == .retryable })
        // Four tried in vain, four found that it was too late to try.
        #expect(verdicts.value.count { $0.reason == "RelayUnreachable" } == 4)
        #expect(verdicts.value.count { $0.reason == "HandedBack" } == 4)
        relay.stop()
    }

    @Test func whatWaitsForARelayIsSentWhenItIsBack() async throws {
        let folder = try TemporaryDirectory()
        let world = try DeliveryWorld(folder: folder.path)
        let registration = try await world.startRegistration()
        let endpoint = HTTPSRelay(world.relay)
        let first = try await endpoint.start(in: folder.path)
        await first.stop()
        let delivery = try await world.startDelivery([
            "PUSHBUS_DELIVERY_RELAY": "",
            "PUSHBUS_DELIVERY_RELAY_URL": "https://127.0.0.1:\(first.port)",
            "PUSHBUS_DELIVERY_RELAY_CA_FILE": folder.file("ca.pem"),
        ])
        _ = try await world.ask(Samples.fresh(1, 0..<20, world.time))
        try await wait(world, for: "RelayUnreachable")
        // The authority is read for each connection, so the one made anew is trusted.
        let second = try await endpoint.start(in: folder.path, port: first.port)
        try await world.wait(for: 20, .accepted)
        #expect(try await world.receipts().allSatisfy { $0.attempts == 1 })
        try await delivery.stop()
        await second.stop()
        try await registration.stop()
    }

    @Test func aStopEndsWhatIsUnderWayAndHandsBackTheRest() async throws {
        let folder = try TemporaryDirectory()
        let world = try DeliveryWorld(folder: folder.path)
        let gate = StopSignal()
        world.relay.answer { _ in
            await gate.wait()
            return nil
        }
        let registration = try await world.startRegistration()
        let endpoint = HTTPSRelay(world.relay)
        let relay = try await world.startRelay(over: endpoint)
        let settings = relay.settings.merging(["PUSHBUS_DELIVERY_RELAY_CONCURRENT": "1"]) { $1 }
        let delivery = try await world.startDelivery(settings)
        _ = try await world.ask(Samples.fresh(1, 0..<3, world.time))
        await endpoint.state.wait { $0.current == 1 }
        try await delivery.stop()
        gate.trigger()
        await relay.stop()
        // Nobody is at the relay's place: what the first run left is seen unchanged or as waiting.
        let again = try await world.startDelivery(settings)
        let receipts = try await world.receipts()
        #expect(receipts.count == 3)
        #expect(receipts.map(\.attempts).sorted() == [0, 0, 1])
        #expect(receipts.allSatisfy { !$0.state.isTerminal })
        #expect(world.relay.state.value.messages.count == 1)
        try await again.stop()
        try await registration.stop()
    }
}

/// A relay over HTTP/2 that accepts everything.
private final class MultiplexedRelay: HTTP2ServerHandler {
    struct State: Sendable {
        var connections = 0
        var tokens: Set<DeviceToken> = []
    }

    let state = Observed(State())
    private let delay: Duration

    init(delay: Duration = .zero) { self.delay = delay }

    func connectionOpened(_ connection: HTTP2ServerConnection) {
        state.update { $0.connections += 1 }
    }

    func requestEnded(
        _ request: inout HTTP2ServerRequest,
        on connection: HTTP2ServerConnection
    ) {
        let token = HTTPSRelay.message(request.body)?.deviceToken
        if let token { state.update { $0.tokens.insert(token) } }
        let body = #"{"outcome":"accepted","reason":"Accepted","device_invalid":false}"#
        let response = HTTP2ServerResponse(
            status: token == nil ? 400 : 200,
            body: Array(body.utf8)
        )
        let stream = request.stream
        connection.loop.executor.schedule(after: delay) { connection.respond(stream, response) }
    }
}
