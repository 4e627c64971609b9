import HTTP2
import Loop
import Testing

@Suite(.timeLimit(.minutes(2)))
struct VolumeTests {
    @Test("ten thousand requests in batches, each answered once")
    func batches() async throws {
        let fixture = try await HTTP2Fixture()
        let connection = try await fixture.connected()
        let tally = await BatchDriver(connection, total: 10_000, bodyBytes: 1_400).run()
        #expect(tally.responses == 10_000)
        #expect(tally.duplicates == 0)
        #expect(await fixture.onLoop { connection.activeStreams } == 0)
        connection.shutDown()
        await fixture.stop()
    }

    @Test("what is submitted together leaves in few TLS records")
    func coalescedRecords() async throws {
        let fixture = try await HTTP2Fixture()
        let counter = try RecordCounter(to: fixture.port)
        let connection = try await fixture.connected { $0.port = counter.port }
        // The first success opens the connection for many.
        #expect(await connection.send(.push(), timeout: .seconds(20)).status == 200)
        let before = counter.records
        let tally = await BatchDriver(connection, total: 100).run()
        #expect(tally.responses == 100)
        // A hundred requests of two frames each make some 15 KiB: one record, and a few for windows.
        #expect(counter.records - before < 20)
        connection.shutDown()
        await fixture.stop()
        counter.stop()
    }

    @Test("a server never reads more than half of a window in one go")
    func budgetFitsTheWindow() {
        var settings = HTTP2ServerSettings()
        #expect(settings.readBudgetOfConnection == 32_767)
        settings.connectionWindowBytes = 16 << 20
        #expect(settings.readBudgetOfConnection == settings.readBudget)
        settings.readBudget = 0
        #expect(settings.readBudgetOfConnection == 1)
    }

    @Test("tiny read budgets and windows never stall", arguments: [1, 700, 16_384])
    func tinyBudgets(budget: Int) async throws {
        var settings = HTTP2ServerSettings()
        settings.readBudget = budget
        settings.streamWindowBytes = 1_000
        let fixture = try await HTTP2Fixture(settings: settings)
        let connection = try await fixture.connected { $0.readBudget = budget }
        let total = budget == 1 ? 50 : 2_000
        let tally = await BatchDriver(connection, total: total, bodyBytes: 4_000).run()
        #expect(tally.responses == total)
        #expect(tally.ambiguous == 0)
        connection.shutDown()
        await fixture.stop()
    }

    @Test("async callers on the loop and elsewhere", arguments: [true, false])
    func asyncCallers(onLoop: Bool) async throws {
        let fixture = try await HTTP2Fixture()
        let connection = try await fixture.connected()
        #expect(await connection.ping(timeout: .seconds(10)))
        let good = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<50 {
                if onLoop {
                    group.addTask(executorPreference: fixture.loop.executor) {
                        await Self.sendMany(connection)
                    }
                } else {
                    group.addTask { await Self.sendMany(connection) }
                }
            }
            return await group.reduce(0, +)
        }
        #expect(good == 2_500)
        connection.shutDown()
        await fixture.stop()
    }

    private static func sendMany(_ connection: HTTP2ClientConnection) async -> Int {
        var good = 0
        for _ in 0..<50 {
            // Together more than the peer's window takes.
            let outcome = await connection.send(.push(bytes: 1_400), timeout: .seconds(30))
            if outcome.status == 200 { good += 1 }
        }
        return good
    }
}
