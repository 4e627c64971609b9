import Contracts
import FoundationEssentials
import HTTPClient
import TestKit
import Testing
import Topology

/// The clock of the host jumps under the real processes (libfaketime).
@Suite("Clock jumps", .serialized)
struct ClockTests {
    @Test("an hour forwards and back: nothing is kept for ever, nothing new is lost")
    func jumps() async throws {
        let library = try #require(FakeClock.library, "script/bootstrap --tests installs faketime")
        try await World.run { topology in
            topology.commonEnvironment.merge(
                FakeClock(in: topology.directory).variables(library)
            ) { $1 }
        } body: { world in
            let clock = FakeClock(in: world.directory.path)
            let phone = try await world.phone("alice")
            let history = History(world: world, phones: [phone])
            let supervisor = world.running.supervisor
            var sent = try await world.publish([Alerts.triggered(1)])
            try await history.check(sent)

            // What waits when the clock jumps ahead has reached its end; later events have not.
            await supervisor.stop("relay")
            let overtaken = try await world.publish([Alerts.triggered(2)])
            try await wait(for: [.pending, .retryable], overtaken[0], phone, history)
            try clock.set(seconds: 3600)
            try await moveSimulator(3_600_000, world)
            try await wait(for: [.expired], overtaken[0], phone, history)
            try supervisor.start("relay")
            sent += try await world.publish([Alerts.triggered(3)])
            try await history.check(sent)

            // What is leased or waits when the clock jumps back is neither held nor kept for ever.
            await supervisor.stop("relay")
            sent += try await world.publish([Alerts.triggered(4)])
            try await wait(for: [.pending, .retryable], sent.last, phone, history)
            try clock.set(seconds: 0)
            try await moveSimulator(-3_600_000, world)
            try supervisor.start("relay")
            sent += try await world.publish([Alerts.triggered(5)])
            try await history.check(sent)
        }
    }

    private func wait(
        for states: Set<ReceiptState>,
        _ event: EventID?,
        _ phone: TestPhone,
        _ history: History
    ) async throws {
        while true {
            let rows = try await history.receipts(of: phone).filter { $0.eventID == event }
            if let state = rows.first?.state, states.contains(state) { return }
            try Task.checkCancellation()
        }
    }

    private func moveSimulator(_ milliseconds: Int, _ world: World) async throws {
        let reply = try await world.http.send(
            HTTPClientRequest(
                method: "POST",
                url: "\(world.simulator)/clock",
                body: Array(#"{"advance_ms":\#(milliseconds)}"#.utf8)
            )
        )
        #expect((200..<300).contains(reply.status))
    }
}

/// A wall clock that a test moves under processes which it starts.
struct FakeClock {
    private let file: String

    init(in directory: String) { file = "\(directory)/clock" }

    /// Where Debian puts the library, nil when it is not installed.
    static var library: String? {
        let folders = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib")) ?? []
        return folders.map { "/usr/lib/\($0)/faketime/libfaketimeMT.so.1" }
            .first { FileManager.default.fileExists(atPath: $0) }
    }

    func variables(_ library: String) -> [String: String] {
        [
            "LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": file,
            // One host has one clock. A cache in each process would let them jump at different
            // times, and one would admit by the old clock what another expires by the new one.
            "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        ]
    }

    /// From now on the clock of every process is that far ahead.
    func set(seconds: Int) throws {
        try "+\(seconds)s\n".write(toFile: file, atomically: true, encoding: .utf8)
    }
}
