import Contracts
import EventIngestCore
import EventIngestService
import FoundationEssentials
import TestKit
import Testing

/// Content is in no file any more once an event has ended.
@Suite struct EventStoreErasureTests {
    private static let mark = "Unmistakable rule name"

    /// Whether any file of the store holds the text.
    private func isStored(_ world: StoreWorld, _ text: String) async throws -> Bool {
        let store = try #require(world.store as? SQLiteEventStore)
        try await store.checkpoint()
        let wanted = Array(text.utf8)
        for name in ["events.db", "events.db-wal"] {
            let path = world.directory.path + "/" + name
            guard let data = FileManager.default.contents(atPath: path) else { continue }
            if [UInt8](data).contains(wanted) { return true }
        }
        return false
    }

    @Test(arguments: ["done", "expired"])
    func leavesNothingBehind(_ end: String) async throws {
        let factory = try #require(StoreFactory.all.first)
        try await StoreWorld.with(factory) { world in
            let event = EventSamples.alert(
                changes: ["subject": .string(Self.mark + " in the subject")],
                dataChanges: ["rule_name": .string(Self.mark)]
            )
            let id = try world.id(event)
            try await world.publish(event)
            #expect(try await isStored(world, Self.mark))
            try await world.settle()
            _ = try await world.claim()
            try await world.report(id, to: "a", .more)
            #expect(try await isStored(world, Self.mark))
            if end == "done" {
                try await world.report(id, from: "a", .done)
            } else {
                world.time.advance(by: .seconds(1800))
                #expect(try await world.store.expireDue(limit: 10) == 1)
            }
            #expect(try await !isStored(world, Self.mark))
            #expect(try await !isStored(world, "Server s1"))
            #expect(try await isStored(world, "/monitor/1"))
            #expect(try await world.publish(event).map(\.status) == [.duplicate])
        }
    }

    @Test func neverStoresTheContentOfALateEvent() async throws {
        let factory = try #require(StoreFactory.all.first)
        try await StoreWorld.with(factory) { world in
            try await world.publish(
                EventSamples.alert(
                    changes: ["time": .string("2001-01-01T00:00:00Z")],
                    dataChanges: ["rule_name": .string(Self.mark)]
                )
            )
            #expect(try await !isStored(world, Self.mark))
        }
    }
}
