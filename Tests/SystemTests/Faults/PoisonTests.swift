import Contracts
import Glibc
import TestKit
import Testing
import Topology

/// A row whose sending ends the process each time.
@Suite("Poison", .serialized)
struct PoisonTests {
    @Test("a row that kills its sender is given up, and the others arrive")
    func quarantine() async throws {
        try await World.run(CrashFiles.configure) { world in
            let phone = try await world.phone("alice")
            let history = History(world: world, phones: [phone])
            let supervisor = world.running.supervisor
            let poison = try await publishWhileArmed(world)
            var crashes = 1
            while true {
                try CrashFiles.arm(Self.moment, .delivery, in: world.directory.path)
                try supervisor.start("delivery")
                guard await supervisor.waitUntilReady("delivery") else {
                    crashes += 1
                    continue
                }
                let ended = try await endOrCrash(poison, phone, history, supervisor)
                if ended { break }
                crashes += 1
                try #require(crashes < 12, "a poison row is sent for ever")
            }
            CrashFiles.disarm(.delivery, in: world.directory.path)
            let row = try #require(try await history.receipts(of: phone).first)
            #expect(row.state == .permanent)
            #expect(row.reason == "Quarantined")
            #expect((3...6).contains(crashes))
            let later = try await world.publish([Alerts.triggered(2)])
            while try await history.receipts(of: phone).last?.state != .accepted {
                try Task.checkCancellation()
            }
            #expect(try await history.receipts(of: phone).map(\.eventID) == poison + later)
        }
    }

    private static let moment = "relay.send.v1 sending"

    private func publishWhileArmed(_ world: World) async throws -> [EventID] {
        try CrashFiles.arm(Self.moment, .delivery, in: world.directory.path)
        let events = try await world.publish([Alerts.triggered(1)])
        _ = await world.running.supervisor.waitForExit("delivery")
        return events
    }

    /// Whether the row ended before the process did.
    private func endOrCrash(
        _ events: [EventID],
        _ phone: TestPhone,
        _ history: History,
        _ supervisor: Supervisor
    ) async throws -> Bool {
        try await within(.seconds(30)) {
            while supervisor.processID(of: "delivery") != nil {
                let query = ReceiptQuery(eventID: events[0])
                let rows = try? await history.world.ask(
                    .delivery,
                    query,
                    timeout: .seconds(2)
                ).receipts
                if rows?.first?.state.isTerminal == true { return true }
                try Task.checkCancellation()
            }
            return false
        }
    }
}
