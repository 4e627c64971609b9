import Loop

/// Tries a store that failed until it takes a write, so that it counts as mended also when nobody asks
/// for anything: a process that is not ready is sent no work.
package struct StoreProbe: Service {
    package static let interval = Duration.seconds(5)

    package let name = "store-probe"
    private let condition: StoreCondition
    private let time: any TimeSource
    private let write: @Sendable () async throws -> Void

    /// `write` changes nothing that anybody can see.
    package init(
        _ condition: StoreCondition,
        time: any TimeSource,
        write: @escaping @Sendable () async throws -> Void
    ) {
        self.condition = condition
        self.time = time
        self.write = write
    }

    package func run(until stop: StopSignal) async throws {
        await withTaskGroup { group in
            group.addTask { await probe() }
            await stop.wait()
            group.cancelAll()
        }
    }

    private func probe() async {
        while !Task.isCancelled {
            await condition.waitForFailure()
            while condition.needsProbe, !Task.isCancelled {
                try? await time.sleep(for: Self.interval)
                do {
                    try await write()
                    condition.writes()
                } catch {
                    condition.fails(error)
                }
            }
        }
    }
}
