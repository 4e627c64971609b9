import Bus
import Contracts
import Loop
import ServiceKit
import TestKit
import Testing
import ZeroMQ

/// libzmq once asserted after thousands of denied handshakes.
@Suite(.timeLimit(.minutes(2))) struct DenialTests {
    @Test func manyDenialsNeitherEndTheServerNorFloodTheLog() async throws {
        let logs = LogCollector()
        let world = try BusWorld(log: logs.log())
        let keys = try CurveKeyPair.generate()
        let good = try CurveKeyPair.generate()
        let list = BusAllowList([BusPrincipal(name: "good", key: good.publicKey)])
        let server = try world.server(
            BusEndpoint(.tcp("127.0.0.1", 0)),
            security: .curve(BusCurve(keys: keys, authority: BusAuthority(list)))
        )
        try await world.serving(server) { endpoints in
            for _ in 0..<50 {
                let wrong = BusCurve(keys: try CurveKeyPair.generate(), serverKey: keys.publicKey)
                let strangers = try (0..<4).map { _ in
                    try world.client(endpoints, security: .curve(wrong))
                }
                for stranger in strangers {
                    await #expect(throws: BusFailure.timeout) {
                        try await stranger.ask(Echo("x"), timeout: .milliseconds(10))
                    }
                    stranger.stop()
                }
            }
            let client = try world.client(
                endpoints,
                security: .curve(BusCurve(keys: good, serverKey: keys.publicKey))
            )
            _ = try await client.ask(Echo("x"), timeout: .seconds(20))
        }
        #expect(logs.lines(of: "bus client refused").count == 1)
    }

    @Test func silentConnectionsDoNotStarveAnHonestClient() async throws {
        let world = try BusWorld()
        let keys = try CurveKeyPair.generate()
        let list = BusAllowList([BusPrincipal(name: "good", key: keys.publicKey)])
        let server = try world.server(
            BusEndpoint(.tcp("127.0.0.1", 0)),
            security: .curve(BusCurve(keys: keys, authority: BusAuthority(list)))
        )
        try await world.serving(server) { endpoints in
            guard case .tcp(_, let port)? = endpoints.first?.transport else {
                Issue.record("no port")
                return
            }
            let silent = try (0..<200).map { _ in try SilentConnection(port: port) }
            let client = try world.client(
                endpoints,
                security: .curve(BusCurve(keys: keys, serverKey: keys.publicKey))
            )
            _ = try await client.ask(Echo("x"), timeout: .seconds(20))
            #expect(silent.count == 200)
        }
    }
}
