import Glibc
import Storage
import Testing

@Suite struct DurabilityTests {
    /// A child process acknowledges writes into a file and kills itself with writes still in flight.
    @Test(.timeLimit(.minutes(1)))
    func whatWasAnsweredSurvivesKill9() async throws {
        let store = TemporaryStore()
        defer { store.remove() }
        await #expect(processExitsWith: .signal(SIGKILL)) { [folder = store.folder as String] in
            let database = try await SQLiteDatabase.open(
                path: folder + "/store.db",
                migrations: TemporaryStore.migrations
            )
            let acks = Glibc.open(folder + "/acks", O_WRONLY | O_CREAT | O_APPEND, 0o600)
            await withTaskGroup { group in
                for number in 0..<2000 {
                    group.addTask {
                        guard (try? await database.insert("n\(number)")) != nil else { return }
                        let line = Array("n\(number)\n".utf8)
                        _ = Glibc.write(acks, line, line.count)
                        if number == 700 { kill(getpid(), SIGKILL) }
                    }
                }
            }
        }
        let acked = String(decoding: contents(store.folder + "/acks") ?? [], as: UTF8.self)
            .split(separator: "\n").map(String.init)
        #expect(!acked.isEmpty)
        let database = try await store.open()
        #expect(try await database.statistics.checkedAtOpen)
        #expect(Set(acked).isSubset(of: try await database.names()))
        await database.close()
    }
}
