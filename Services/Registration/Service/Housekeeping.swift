import Contracts
import Loop
import RegistrationCore
import ServiceKit

/// Forgets what has expired, once an hour and at the start.
struct Housekeeping: Service {
    let name = "housekeeping"
    let store: any SessionStore
    let time: any TimeSource
    let log: Log

    func run(until stop: StopSignal) async throws {
        await withTaskGroup { group in
            group.addTask { await keepHouse() }
            await stop.wait()
            group.cancelAll()
        }
    }

    private func keepHouse() async {
        while !Task.isCancelled {
            do {
                var rows = 0
                while true {
                    let count = try await store.purge(now: time.wall.second)
                    rows += count
                    if count < 500 { break }
                }
                if rows > 0 { log.debug("expired rows forgotten", ["rows": .int(rows)]) }
            } catch {
                log.warning("expired rows stay for now", ["error": .error(error)])
            }
            try? await time.sleep(for: .seconds(3600))
        }
    }
}
