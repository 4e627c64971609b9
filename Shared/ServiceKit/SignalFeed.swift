import Dispatch
import Glibc

/// Where the requests to stop come from: the process's signals, or a test.
package struct SignalFeed: Sendable {
    /// Stops the feed and puts the default action back.
    package typealias Stop = @Sendable () -> Void

    private let begin: @Sendable (@escaping @Sendable (Int32) -> Void) async -> Stop

    /// A feed that calls the handler with each signal number once `begin` has returned.
    package init(begin: @escaping @Sendable (@escaping @Sendable (Int32) -> Void) async -> Stop) {
        self.begin = begin
    }

    /// SIGTERM and SIGINT of this process.
    package static let process = SignalFeed { handler in await watch([SIGTERM, SIGINT], handler) }

    /// A feed that never says anything.
    package static let none = SignalFeed { _ in {} }

    func start(_ handler: @escaping @Sendable (Int32) -> Void) async -> Stop {
        await begin(handler)
    }
}

/// Returns when every source is registered, so that no signal after that is lost.
private func watch(
    _ signals: [Int32],
    _ handler: @escaping @Sendable (Int32) -> Void
) async -> SignalFeed.Stop {
    let queue = DispatchQueue(label: "pushbus.signals")
    var sources: [any DispatchSourceSignal] = []
    for number in signals {
        // The source does not keep the default action from ending the process.
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
        source.setEventHandler { handler(number) }
        await withCheckedContinuation { continuation in
            source.setRegistrationHandler { continuation.resume() }
            source.activate()
        }
        sources.append(source)
    }
    let registered = SignalSources(sources)
    return { registered.cancel(signals) }
}

// Sendable by proof: the array is constant and Dispatch objects are thread-safe.
private final class SignalSources: @unchecked Sendable {
    private let sources: [any DispatchSourceSignal]

    init(_ sources: [any DispatchSourceSignal]) {
        self.sources = sources
    }

    func cancel(_ signals: [Int32]) {
        for source in sources { source.cancel() }
        for number in signals { signal(number, SIG_DFL) }
    }
}
