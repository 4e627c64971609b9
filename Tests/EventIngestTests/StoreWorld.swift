import Contracts
import EventIngestCore
import EventIngestService
import FoundationEssentials
import ServiceKit
import Storage
import TestKit
import Testing

/// How a kind of event store is opened; every kind passes the same suite.
struct StoreFactory: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// How many random histories take a few seconds.
    let histories: UInt64
    let open:
        @Sendable (String, ManualTime, EventStoreLimits, PolicyRulings) async throws ->
            any EventStore
    /// What is on the disk at this moment, while nothing is being written; nil where that is not
    /// for us to copy.
    var image: @Sendable (TemporaryDirectory) throws -> TemporaryDirectory? = { _ in nil }

    static let all = [sqlite, postgreSQL]

    static let sqlite = StoreFactory(
        testDescription: "SQLite",
        histories: 24,
        open: { directory, time, limits, rulings in
            try await SQLiteEventStore(
                path: directory + "/events.db",
                time: time,
                limits: limits,
                rulings: rulings
            )
        },
        image: { directory in
            let image = try TemporaryDirectory()
            for name in try FileManager.default.contentsOfDirectory(atPath: directory.path) {
                try FileManager.default.copyItem(
                    atPath: directory.file(name),
                    toPath: image.file(name)
                )
            }
            return image
        }
    )

    static let postgreSQL = StoreFactory(
        testDescription: "PostgreSQL",
        histories: 4,
        open: { directory, time, limits, rulings in
            try await PostgreSQLEventStore(
                PostgreSQLURL(PostgreSQLServer.shared.get().database(for: directory)),
                limits: limits,
                rulings: rulings,
                clock: time
            )
        }
    )
}

/// A store with a clock that stands still, and what a producer and a Fanout do to it.
final class StoreWorld {
    static let start = UnixMilliseconds(1_800_000_000_000)

    private(set) var directory: TemporaryDirectory
    let time = ManualTime(wall: StoreWorld.start)
    let factory: StoreFactory
    let limits: EventStoreLimits
    let rulings: PolicyRulings
    private(set) var store: any EventStore

    init(
        _ factory: StoreFactory,
        limits: EventStoreLimits = EventStoreLimits(),
        rulings: PolicyRulings = PolicyRulings()
    ) async throws {
        directory = try TemporaryDirectory()
        self.factory = factory
        self.limits = limits
        self.rulings = rulings
        store = try await factory.open(directory.path, time, limits, rulings)
    }

    /// Runs `body` and closes the store afterwards.
    static func with(
        _ factory: StoreFactory,
        limits: EventStoreLimits = EventStoreLimits(),
        rulings: PolicyRulings = PolicyRulings(),
        _ body: (StoreWorld) async throws -> Void
    ) async throws {
        let world = try await StoreWorld(factory, limits: limits, rulings: rulings)
        do {
            try await body(world)
        } catch {
            await world.store.close()
            throw error
        }
        await world.store.close()
    }

    /// Ends the store and opens it again, as a restart does.
    func reopen() async throws {
        await store.close()
        store = try await factory.open(directory.path, time, limits, rulings)
        try await store.recover()
    }

    /// Ends the store as a power cut does: what was committed is there, and nothing was tidied up.
    func crash() async throws {
        guard let image = try factory.image(directory) else {
            try await reopen()
            return
        }
        await store.close()
        directory = image
        store = try await factory.open(directory.path, time, limits, rulings)
        try await store.recover()
    }

    @discardableResult
    func publish(_ events: JSONValue...) async throws -> [EventPublishAnswer.Result] {
        var candidates: [EventCandidate] = []
        for event in events { candidates.append(try EventSamples.candidate(event)) }
        let admissions = try await store.admit(candidates)
        return admissions.map(\.result)
    }

    /// Publishes events whose watermark is known.
    func publish(
        _ events: JSONValue...,
        watermark: Int64,
        handingOut limit: Int
    ) async throws -> AdmittedEvents {
        try await store.admit(
            events.map { try EventSamples.candidate($0) },
            watermark: watermark,
            handingOut: limit
        )
    }

    @discardableResult
    func put(_ items: PolicyItem...) async throws -> PolicyChangeAnswer {
        try await store.change(PolicyChange(by: "tester", put: items), by: "tester")
    }

    func remove(_ key: PolicyKey) async throws {
        _ = try await store.change(PolicyChange(by: "tester", remove: [key]), by: "tester")
    }

    /// Gives every committed event the watermark.
    func settle(_ watermark: Int64 = 7) async throws {
        if let mark = try await store.awaitingWatermark() {
            try await store.settle(watermark: watermark, upTo: mark)
        }
    }

    func claim(_ limit: Int = 100) async throws -> [EventAdmitted] {
        try await store.claimDue(limit: limit).orders.map(\.event)
    }

    @discardableResult
    func report(
        _ event: EventID,
        from: String? = nil,
        to: String? = nil,
        _ state: FanoutProgress.State,
        written: Int64 = 1,
        skipped: [String: Int64] = [:],
        delay: Int64? = nil
    ) async throws -> RecordedProgress {
        try await store.record(
            FanoutProgress(
                eventID: event,
                from: from.map { InstallationID($0) },
                to: to.map { InstallationID($0) },
                written: written,
                skipped: skipped,
                state: state,
                delayMilliseconds: delay
            )
        )
    }

    func event(_ id: EventID) async throws -> EventQueryAnswer.Event? {
        try await store.events(EventQuery(eventID: id)).first
    }

    func id(_ event: JSONValue) throws -> EventID {
        try EventSamples.candidate(event).notification.eventID
    }
}
