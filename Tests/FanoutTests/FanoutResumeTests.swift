import Bus
import Contracts
import FanoutService
import Loop
import ServiceKit
import TestKit
import Testing

@Suite(.timeLimit(.minutes(2))) struct FanoutResumeTests {
    /// Kills Fanout after each number of committed batches in turn; the next one goes on.
    @Test(arguments: 1...9)
    func aFanoutKilledAfterAnyBatchIsResumed(_ batches: Int) async throws {
        let world = try FanoutWorld(installations: 90)
        try await world.start()
        let event = FanoutWorld.event()
        let doomed = Task {
            try await world.withFanout(pageSize: 10) { client, _ in
                try await world.hand(client, event)
                await Observed(false).wait { $0 }
            }
        }
        await world.rows.wait { $0.batches.count >= batches }
        doomed.cancel()
        try? await doomed.value
        try await world.withFanout(pageSize: 10) { client, _ in
            if !world.ingest.value.isDone {
                try await world.hand(client, event)
                await world.ingest.wait { $0.isDone }
            }
        }
        let rows = world.rows.value
        #expect(rows.byInstallation.count == 90)
        #expect(world.ingest.value.written == 90)
        try await world.end()
    }

    @Test func reportsCoverAContiguousPrefixOnly() async throws {
        let world = try FanoutWorld(installations: 200)
        try await world.start()
        try await world.withFanout(pageSize: 7) { client, _ in
            try await world.hand(client, FanoutWorld.event())
            await world.ingest.wait { $0.isDone }
        }
        var cursor: InstallationID?
        for report in world.ingest.value.reports {
            #expect(report.from == cursor)
            cursor = report.to
        }
        #expect(world.ingest.value.written == 200)
        try await world.end()
    }

    @Test func installationsThatLeaveOrJoinMeanwhileDoNoHarm() async throws {
        let world = try FanoutWorld(installations: 100)
        try await world.start()
        try await world.withFanout(pageSize: 10) { client, _ in
            try await world.hand(client, FanoutWorld.event())
            await world.rows.wait { $0.batches.count >= 2 }
            world.audience.update { audience in
                audience.removeAll { $0.binding.isMultiple(of: 7) }
                audience.append(FanoutWorld.recipient(200))
            }
            await world.ingest.wait { $0.isDone }
        }
        #expect(world.rows.value.duplicates == 0)
        #expect(world.rows.value.byInstallation[FanoutWorld.recipient(200).installationID] != nil)
        try await world.end()
    }

    @Test func peersMayStartAfterFanout() async throws {
        let world = try FanoutWorld(installations: 30)
        try await world.withFanout(patience: .milliseconds(300)) { client, _ in
            let event = FanoutWorld.event()
            try await world.hand(client, event)
            try await world.start()
            while !world.ingest.value.isDone {
                try await world.hand(client, event)
                _ = try? await within(.milliseconds(200)) {
                    await world.ingest.wait { $0.isDone }
                }
            }
        }
        #expect(world.rows.value.byInstallation.count == 30)
        try await world.end()
    }
}
