import Bus
import Contracts
import Loop
import ServiceKit
import TestKit
import Testing
import ZeroMQ

@Suite struct CurveTests {
    private let serverKeys: CurveKeyPair
    private let clientKeys: CurveKeyPair

    init() throws {
        serverKeys = try CurveKeyPair.generate()
        clientKeys = try CurveKeyPair.generate()
    }

    private static let anyPort = BusEndpoint(.tcp("127.0.0.1", 0))

    private func serverSecurity(_ authority: BusAuthority) -> BusSecurity {
        .curve(BusCurve(keys: serverKeys, authority: authority))
    }

    private func clientSecurity(
        _ keys: CurveKeyPair? = nil,
        server: CurvePublicKey? = nil
    ) -> BusSecurity {
        .curve(BusCurve(keys: keys ?? clientKeys, serverKey: server ?? serverKeys.publicKey))
    }

    private func authority(types: [String] = ["*"], sources: [String] = ["*"]) -> BusAuthority {
        BusAuthority(
            BusAllowList([
                BusPrincipal(
                    name: "tester",
                    key: clientKeys.publicKey,
                    types: .init(types),
                    sources: .init(sources)
                )
            ])
        )
    }

    @Test func aListedKeyIsServedUnderItsPrincipal() async throws {
        let world = try BusWorld()
        var routes = BusRoutes()
        routes.answer(Echo.self) { (_, context) throws(Reject) in
            let allowed = context.peer.may(publish: "urn:a") && !context.peer.may(publish: "urn:b")
            return EchoAnswer("\(context.peer.principal) \(allowed)")
        }
        let server = try world.server(
            Self.anyPort,
            security: serverSecurity(authority(sources: ["urn:a"])),
            routes: routes
        )
        try await world.serving(server) { endpoints in
            let client = try world.client(endpoints, security: clientSecurity())
            // Many at once, so that frames are prefetched, where libzmq 4.3.4 loses metadata.
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<200 {
                    group.addTask {
                        try await client.ask(Echo("x"), timeout: .seconds(20)).text
                    }
                }
                for try await text in group { #expect(text == "tester true") }
            }
            // Bare single frames and delimiters take the other paths through the socket.
            let raw = try await RawSocket(
                .req,
                world,
                to: try #require(endpoints.first),
                curve: .client(clientKeys, server: serverKeys.publicKey)
            )
            let answer = try await raw.ask(
                requestFrames("test.echo.v1", "{\"text\":\"x\",\"data\":\"\"}")
            )
            #expect(text(answer[1]).contains("tester true"))
            try await raw.close()
        }
    }

    @Test func twoProcessesOfOneNameAndKeyAreBothServed() async throws {
        let world = try BusWorld()
        let server = try world.server(Self.anyPort, security: serverSecurity(authority()))
        try await world.serving(server) { endpoints in
            let clients = try (0..<2).map { _ in
                try world.client(endpoints, security: clientSecurity())
            }
            for round in 0..<50 {
                async let one = clients[0].ask(Echo("a\(round)"), timeout: .seconds(20))
                async let other = clients[1].ask(Echo("b\(round)"), timeout: .seconds(20))
                #expect(try await (one.text, other.text) == ("a\(round)", "b\(round)"))
            }
        }
    }

    @Test func tcpWithoutKeyOrAllowListDoesNotStart() throws {
        let world = try BusWorld()
        #expect(throws: BusConfigurationError.self) { try world.server(Self.anyPort) }
        #expect(throws: BusConfigurationError.self) {
            try world.server(Self.anyPort, security: .curve(BusCurve(keys: serverKeys)))
        }
        #expect(throws: BusConfigurationError.self) {
            try world.client([BusEndpoint(.tcp("127.0.0.1", 1))])
        }
    }

    @Test func unknownKeysWrongServerKeysAndPlainClientsAreKeptOut() async throws {
        let logs = LogCollector()
        let world = try BusWorld(log: logs.log())
        let server = try world.server(Self.anyPort, security: serverSecurity(authority()))
        try await world.serving(server) { endpoints in
            let stranger = try world.client(
                endpoints,
                security: clientSecurity(try CurveKeyPair.generate())
            )
            let misled = try world.client(
                endpoints,
                security: clientSecurity(server: try CurveKeyPair.generate().publicKey)
            )
            let plain = try await RawSocket(.dealer, world, to: try #require(endpoints.first))
            await logs.wait(for: "bus client refused")
            await logs.wait(for: "bus peer refused the handshake")
            let good = try world.client(endpoints, security: clientSecurity())
            for _ in 0..<20 { _ = try await good.ask(Echo("x"), timeout: .seconds(20)) }
            for outcast in [stranger, misled] {
                #expect(await outcast.connectedPeers() == 0)
                await #expect(throws: BusFailure.timeout) {
                    try await outcast.ask(Echo("x"), timeout: .milliseconds(50))
                }
            }
            try await plain.close()
        }
        #expect(world.count("pushbus_bus_received_total{server=\"service\"}") == 20)
    }

    @Test func aRevokedKeyStopsOnItsLiveConnection() async throws {
        let world = try BusWorld()
        let authority = authority()
        let server = try world.server(Self.anyPort, security: serverSecurity(authority))
        try await world.serving(server) { endpoints in
            let client = try world.client(endpoints, security: clientSecurity())
            _ = try await client.ask(Echo("x"), timeout: .seconds(20))
            authority.replace(BusAllowList())
            await #expect {
                try await client.ask(Echo("x"), timeout: .seconds(20))
            } throws: { error in
                guard case BusFailure.rejected(let reject)? = error as? BusFailure else {
                    return false
                }
                return reject.code == .notPermitted
            }
            #expect(await client.connectedPeers() == 1)
        }
    }

    @Test func aTypeOutsideTheListIsRefused() async throws {
        let world = try BusWorld()
        let server = try world.server(
            Self.anyPort,
            security: serverSecurity(authority(types: ["test.note.*"]))
        )
        try await world.serving(server) { endpoints in
            let client = try world.client(endpoints, security: clientSecurity())
            _ = try await client.ask(Note(line: "x"), timeout: .seconds(20))
            await #expect {
                try await client.ask(Echo("x"), timeout: .seconds(20))
            } throws: { error in
                guard case BusFailure.rejected(let reject)? = error as? BusFailure else {
                    return false
                }
                return reject.code == .notPermitted
            }
        }
    }

    @Test func theAllowListFileIsReadAgainWhileRunning() async throws {
        let logs = LogCollector()
        let world = try BusWorld(log: logs.log())
        let newKeys = try CurveKeyPair.generate()
        let old = "tester \(clientKeys.publicKey.z85) *\n"
        let path = try world.write(old, to: "allow")
        let authority = try BusAuthority(file: path)
        let server = try world.server(Self.anyPort, security: serverSecurity(authority))
        try await world.serving(server) { endpoints in
            let client = try world.client(endpoints, security: clientSecurity())
            _ = try await client.ask(Echo("x"), timeout: .seconds(20))
            _ = try world.write(
                "# now\nnewcomer \(newKeys.publicKey.z85) test.*\nbroken line\n",
                to: "allow"
            )
            try await within(.seconds(20)) { await logs.wait(for: "bus allow-list loaded") }
            #expect(logs.lines(of: "bus allow-list fault").count == 1)
            await #expect(throws: BusFailure.self) {
                try await client.ask(Echo("x"), timeout: .seconds(20))
            }
            let newcomer = try world.client(endpoints, security: clientSecurity(newKeys))
            _ = try await newcomer.ask(Echo("x"), timeout: .seconds(20))
        }
    }

    @Test func badAllowListsStopTheStart() throws {
        let world = try BusWorld()
        #expect(throws: BusConfigurationError.self) {
            try BusAuthority(file: world.directory.file("absent"))
        }
        for text in ["", "# nobody\n", "name tooshort\n", "onlyname\n"] {
            let path = try world.write(text, to: "allow")
            #expect(throws: BusConfigurationError.self) { try BusAuthority(file: path) }
        }
        let twice = "a \(clientKeys.publicKey.z85) *\nb \(clientKeys.publicKey.z85) *\n"
        let path = try world.write(twice, to: "allow")
        #expect(throws: BusConfigurationError.self) { try BusAuthority(file: path) }
    }

    @Test func aPrincipalMustListItsTypes() throws {
        let key = clientKeys.publicKey.z85
        let bare = BusAllowList.parse("admin \(key)\n")
        #expect(bare.list.isEmpty)
        #expect(bare.faults.first?.contains("lists no message types for admin") == true)
        let listed = BusAllowList.parse("monitor \(key) event.publish.v1,event.status.*\n")
        #expect(listed.faults == [])
        let types = try #require(listed.list.principal(forKey: key)).types
        #expect(types.allows("event.publish.v1") && types.allows("event.status.v1"))
        #expect(!types.allows("registration.admin.users.v1"))
    }
}
