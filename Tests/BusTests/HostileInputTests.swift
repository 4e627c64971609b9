import Bus
import Contracts
import Glibc
import Loop
import ServiceKit
import Testing
import ZeroMQ

/// Whatever comes to the socket, the process lives and goes on serving.
@Suite struct HostileInputTests {
    @Test func unknownTypesAndVersionsAreRefusedByName() async throws {
        let world = try BusWorld()
        try await world.serving(try world.server()) { _ in
            let raw = try await RawSocket(.dealer, world, to: world.ipc)
            var answer = try await raw.ask(requestFrames("test.echo.v2", "{}"))
            #expect(text(answer[0]).contains("\"type\":\"reject.v1\""))
            #expect(
                text(answer[0]).contains("\"re\":\"11111111-1111-4111-8111-111111111111\"")
            )
            #expect(text(answer[1]).contains("unsupported_type"))
            answer = try await raw.ask([
                Array("{\"pushbus\":2,\"type\":\"x\",\"id\":\"a\",\"content\":\"json\"}".utf8), [],
            ])
            #expect(text(answer[1]).contains("unsupported_version"))
            #expect(text(answer[0]).contains("\"re\":\"a\""))
            try await raw.close()
        }
    }

    @Test(arguments: [
        [Array("not json".utf8)],
        [[]],
        [Array("{\"pushbus\":1}".utf8), Array("{}".utf8)],
        [
            Array(
                "{\"pushbus\":1,\"type\":\"test.echo.v1\",\"id\":\"a\",\"content\":\"xml\"}".utf8
            ), [],
        ],
        requestFrames("test.echo.v1", "{"),
        requestFrames("test.echo.v1", "[]"),
        requestFrames("test.echo.v1", "{\"text\":1,\"data\":\"\"}"),
        requestFrames("test.echo.v1", String(repeating: "[", count: 100_000)),
        [requestFrames("test.echo.v1", "")[0]],
    ])
    func malformedMessagesAreAnswered(_ frames: [[UInt8]]) async throws {
        let world = try BusWorld()
        try await world.serving(try world.server()) { _ in
            let raw = try await RawSocket(.dealer, world, to: world.ipc)
            let answer = try await raw.ask(frames)
            #expect(text(answer[0]).contains("\"type\":\"reject.v1\""))
            #expect(text(answer[1]).contains("\"code\":\"malformed\""))
            try await raw.close()
        }
    }

    @Test func aPackedBodyIsCheckedBeforeItIsDecoded() async throws {
        let world = try BusWorld()
        try await world.serving(try world.server()) { _ in
            let raw = try await RawSocket(.dealer, world, to: world.ipc)
            let header = Array(
                "{\"pushbus\":1,\"type\":\"test.echo.v1\",\"id\":\"a\",\"content\":\"msgpack\"}"
                    .utf8
            )
            let bodies: [[UInt8]] = [
                [0xdd, 0xff, 0xff, 0xff, 0xff],
                [0xdf, 0x7f, 0xff, 0xff, 0xff],
                Array(repeating: 0x91, count: 50_000),
                [0xc7, 0x01, 0x01, 0x00],
                [0x80, 0x80],
                [],
            ]
            for body in bodies {
                let answer = try await raw.ask([header, body])
                #expect(text(answer[1]).contains("\"code\":\"malformed\""))
            }
            try await raw.close()
        }
    }

    @Test func messagesBeyondTheLimitsAreDrainedAnsweredAndCounted() async throws {
        let world = try BusWorld()
        try await world.serving(try world.server()) { _ in
            let raw = try await RawSocket(.dealer, world, to: world.ipc)
            var answer = try await raw.ask(Array(repeating: [1, 2, 3], count: 20_002))
            #expect(text(answer[1]).contains("too_large"))
            let half = [UInt8](repeating: 0x20, count: 600_000)
            answer = try await raw.ask([half, half])
            #expect(text(answer[1]).contains("too_large"))
            answer = try await raw.ask([[UInt8](repeating: 0x20, count: 1_048_577)])
            #expect(text(answer[1]).contains("too_large"))
            answer = try await raw.ask(
                requestFrames("test.note.v1", "{\"line\":\"x\"}") + [[], []]
            )
            #expect(text(answer[0]).contains("ack.v1"))
            try await raw.close()
        }
        let name = "pushbus_bus_rejected_total{code=\"too_large\",server=\"service\"}"
        #expect(world.count(name) == 3)
    }

    @Test func aRequestSocketIsMirroredItsDelimiter() async throws {
        let world = try BusWorld()
        try await world.serving(try world.server()) { _ in
            let raw = try await RawSocket(.req, world, to: world.ipc)
            let answer = try await raw.ask(requestFrames("test.note.v1", "{\"line\":\"x\"}"))
            #expect(text(answer[0]).contains("ack.v1"))
            try await raw.close()
        }
    }

    @Test func bareEventsGoToTheirHandler() async throws {
        let world = try BusWorld()
        var routes = BusRoutes()
        routes.answer(Note.self) { (note, _) throws(Reject) in
            if note.line == "bad" { throw Reject(.malformed, "bad line", pointer: "/line") }
            return Ack()
        }
        routes.acceptBare(Note.self)
        try await world.serving(try world.server(routes: routes)) { _ in
            let raw = try await RawSocket(.dealer, world, to: world.ipc)
            let answer = try await raw.ask([Array("{\"line\":\"x\"}".utf8)])
            #expect(answer == [Array("{}".utf8)])
            let refusal = try await raw.ask([Array("{\"line\":\"bad\"}".utf8)])
            #expect(refusal.count == 1)
            #expect(text(refusal[0]).contains("\"code\":\"malformed\""))
            try await raw.close()
        }
    }

    @Test(arguments: [ZeroMQSocketKind.pub, .sub, .push, .pull, .router, .rep, .pair])
    func socketsOfAnotherKindDoNoHarm(_ kind: ZeroMQSocketKind) async throws {
        let world = try BusWorld()
        try await world.serving(try world.server()) { _ in
            let raw = try await RawSocket(kind, world, to: world.ipc)
            let client = try world.client()
            for _ in 0..<20 { _ = try await client.ask(Echo("x"), timeout: .seconds(10)) }
            try await raw.close()
        }
    }

    @Test func randomBytesOnTheRawSocketDoNoHarm() async throws {
        let world = try BusWorld()
        try await world.serving(try world.server()) { _ in
            let random = RandomSource.seeded(42)
            for round in 0..<200 {
                let bytes = random.bytes(Int(random.uniform(below: 400)) + 1)
                // Every other time with a real greeting first, to get past it.
                let greeting: [UInt8] = [0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0]
                try sendRaw(to: world.ipc, round.isMultiple(of: 2) ? bytes : greeting + bytes)
            }
            let client = try world.client()
            _ = try await client.ask(Echo("x"), timeout: .seconds(10))
        }
    }

    @Test func randomFramesAreAllAnswered() async throws {
        let world = try BusWorld()
        try await world.serving(try world.server()) { _ in
            let raw = try await RawSocket(.dealer, world, to: world.ipc)
            let random = RandomSource.seeded(7)
            let header = requestFrames("test.echo.v1", "")[0]
            for round in 0..<300 {
                var first = round.isMultiple(of: 3) ? random.bytes(64) : header
                if round % 3 == 1 {
                    first[Int(random.uniform(below: UInt64(first.count)))] = UInt8(
                        truncatingIfNeeded: random.next()
                    )
                }
                let answer = try await raw.ask([first, random.bytes(200)])
                #expect(!answer.isEmpty)
            }
            try await raw.close()
        }
    }

    /// Writes bytes to the socket file as no ZeroMQ library would.
    private func sendRaw(to endpoint: BusEndpoint, _ bytes: [UInt8]) throws {
        guard case .ipc(let path) = endpoint.transport else { return }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { target in
            target.copyBytes(from: Array(path.utf8))
        }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, size)
            }
        }
        try #require(connected == 0)
        _ = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }
}
