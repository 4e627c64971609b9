import Loop

/// Holds something open until everything above it has stopped.
package struct Holding: Service {
    package let name: String
    private let close: @Sendable () async -> Void

    package init(_ name: String, close: @escaping @Sendable () async -> Void) {
        self.name = name
        self.close = close
    }

    package func run(until stop: StopSignal) async {
        await stop.wait()
        await close()
    }
}
