import Contracts
import HTTPClient
import Testing

/// The real Relay at its HTTPS port, reached by Delivery as one that somebody else runs.
@Suite("A relay elsewhere", .serialized)
struct RelayElsewhereTests {
    @Test("alerts arrive over POST /v1/send, and a removed app is noticed")
    func path() async throws {
        try await World.run(isRelayElsewhere: true) { world in
            let alice = try await world.phone("alice")
            let bob = try await world.phone("bob")
            let history = History(world: world, phones: [alice, bob])
            let events = try await world.publish((0..<10).map(Alerts.triggered))
            try await history.check(events)

            let removal = try await world.http.send(
                HTTPClientRequest(
                    method: "DELETE",
                    url: "\(world.simulator)/tokens/\(bob.token.hex)"
                )
            )
            #expect((200..<300).contains(removal.status))
            let late = try await world.publish([Alerts.triggered(10)])
            try await History(world: world, phones: [alice]).check(events + late)
            var row = try await history.receipts(of: bob).first { $0.eventID == late[0] }
            while row?.state.isTerminal != true {
                try Task.checkCancellation()
                row = try await history.receipts(of: bob).first { $0.eventID == late[0] }
            }
            #expect(row?.state == .permanent)
            #expect(row?.reason == "Unregistered")
            #expect(row?.attempts == 1)
        }
    }
}
