import Loop
import ServiceKit
import Synchronization
import ZeroMQ

/// The one ZeroMQ context and loop thread of a process; servers and clients live on it.
package final class BusRuntime: Sendable {
    package let context: ZeroMQContext
    package let loop: LoopExecutor
    package let backend: ZeroMQPollBackend
    let authenticator: BusAuthenticator
    private let names = Atomic<Int>(0)

    /// Starts the loop thread.
    package init(name: String = "bus", log: Log) throws {
        context = try ZeroMQContext()
        backend = try ZeroMQPollBackend()
        loop = try LoopExecutor(name: name, backend: backend)
        authenticator = BusAuthenticator(
            loop: loop,
            backend: backend,
            context: context,
            log: log
        )
    }

    /// Ends the thread once servers and clients have been stopped; idempotent.
    package func stop() { loop.stop() }

    deinit { loop.stop() }

    /// A name no other socket of the process has.
    func uniqueName(_ name: String) -> String {
        "\(name)-\(names.wrappingAdd(1, ordering: .relaxed).newValue)"
    }
}

/// As the first service of a process it ends the loop's thread after all that lives on it.
extension BusRuntime: Service {
    package var name: String { "bus loop" }

    package func run(until stop: StopSignal) async throws {
        await stop.wait()
        self.stop()
    }
}

/// Owns the ZAP handler of the process; made, and thereby bound, before the first CURVE server.
actor BusAuthenticator {
    private nonisolated let loop: LoopExecutor
    private let backend: ZeroMQPollBackend
    private let context: ZeroMQContext
    private let log: Log
    private var handler: ZapHandler?
    private var refusals: [String: Int] = [:]
    private var failures: [String: @Sendable () -> Void] = [:]

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(loop: LoopExecutor, backend: ZeroMQPollBackend, context: ZeroMQContext, log: Log) {
        self.loop = loop
        self.backend = backend
        self.context = context
        self.log = log
    }

    /// From now on answers handshakes of `domain` by `authority`.
    ///
    /// `failed` is called if the handler ends unasked: then no new client is let in, and the
    /// server has to end.
    func admit(
        domain: String,
        authority: BusAuthority,
        failed: @escaping @Sendable () -> Void
    ) throws(ZeroMQError) {
        let handler: ZapHandler
        if let running = self.handler {
            handler = running
        } else {
            handler = try start()
        }
        handler.judge(domain) { key in authority.principal(forKey: key.z85) != nil }
        failures[domain] = failed
    }

    /// Lets nobody in to `domain` any more.
    func release(domain: String) {
        handler?.judge(domain, nil)
        failures[domain] = nil
    }

    private func start() throws(ZeroMQError) -> ZapHandler {
        let handler = try ZapHandler(context: context, backend: backend, loop: loop)
        let log = log
        handler.answered = { [weak self] domain, accepted in
            if !accepted { self?.assumeIsolated { $0.noteRefusal(domain) } }
        }
        handler.failed = { [weak self] error in
            log.error("bus authentication ended", ["error": .error(error)])
            self?.assumeIsolated { $0.fail() }
        }
        self.handler = handler
        return handler
    }

    /// A refused client tries again for ever, so what is logged about it is bounded: the first
    /// refusal at once, what follows within a minute as one line with their number.
    private func noteRefusal(_ domain: String) {
        refusals[domain, default: 0] += 1
        guard refusals[domain] == 1 else { return }
        log.warning("bus client refused", ["domain": .string(domain)])
        loop.schedule(after: .seconds(60)) { [weak self] in
            self?.assumeIsolated { authenticator in
                let more = (authenticator.refusals.removeValue(forKey: domain) ?? 1) - 1
                guard more > 0 else { return }
                authenticator.log.warning(
                    "bus clients refused",
                    ["domain": .string(domain), "count": .int(more)]
                )
            }
        }
    }

    private func fail() {
        handler = nil
        for failed in failures.values { failed() }
        failures = [:]
    }
}
