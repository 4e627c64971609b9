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
                while try await store.purge(now: time.wall.second) >= 500 {}
            } catch {
                log.warning("expired rows stay for now", ["error": .error(error)])
            }
            try? await time.sleep(for: .seconds(3600))
        }
    }
}
