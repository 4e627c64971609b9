import Bus
import Contracts
import Loop
import ServiceKit
import Testing

/// A stub in any language may use JSON alone: it refuses the packed form and gets JSON.
@Suite struct JSONOnlyPeerTests {
    /// Refuses the first `refusals` requests for their form, as a peer that reads JSON alone does.
    private func routes(refusing refusals: Int, asked: Locked<Int>) -> BusRoutes {
        var routes = BusRoutes()
        routes.answer(Echo.self) { (request, _) throws(Reject) in
            let turn = asked.withLock {
                $0 += 1
                return $0
            }
            if turn <= refusals { throw Reject(.unsupportedContent, "JSON only") }
            return EchoAnswer(request.text, data: request.data.bytes)
        }
        return routes
    }

    @Test func aRequestRefusedForItsFormGoesAgainAsJSON() async throws {
        let world = try BusWorld()
        let asked = Locked(0)
        let server = try world.server(routes: routes(refusing: 1, asked: asked))
        try await world.serving(server) { _ in
            let client = try world.client()
            for text in ["first", "second"] {
                let answer = try await client.ask(Echo(text, data: [9]), timeout: .seconds(10))
                #expect(answer == EchoAnswer(text, data: [9]))
            }
        }
        // The second request was JSON from the start: the client remembers.
        #expect(asked.withLock { $0 } == 3)
    }

    @Test func aPeerThatRefusesJSONTooIsReported() async throws {
        let world = try BusWorld()
        let asked = Locked(0)
        let server = try world.server(routes: routes(refusing: .max, asked: asked))
        try await world.serving(server) { _ in
            let client = try world.client()
            await #expect(
                throws: BusFailure.rejected(Reject(.unsupportedContent, "JSON only"))
            ) {
                try await client.ask(Echo("x"), timeout: .seconds(10))
            }
        }
        #expect(asked.withLock { $0 } == 2)
    }
}
