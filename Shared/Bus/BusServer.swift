import Contracts
import Loop
import ServiceKit
import ZeroMQ

/// Binds one endpoint and answers the requests that come to it.
///
/// The socket lives on the runtime's loop thread, handlers run in tasks of `run`'s group. Nothing
/// is read while `inFlight` requests are being worked on, so peers feel backpressure.
package final class BusServer: Service {
    package let name: String
    private let runtime: BusRuntime
    private let link: BusServerLink
    private let dispatcher: BusDispatcher
    private let announcement: (file: EndpointFile, key: CurvePublicKey?)?
    private let log: Log
    private let standing = Locked(Standing())

    private struct Standing {
        var endpoint: BusEndpoint?
        var ended = false
        var waiters: [CheckedContinuation<BusEndpoint?, Never>] = []
        var observer: (@Sendable (BusEndpoint) -> Void)?
    }

    /// Checks the settings; throws when tcp would be open to anybody. Binding happens in `run`.
    package init(
        runtime: BusRuntime,
        name: String,
        endpoint: BusEndpoint,
        security: BusSecurity = .trustedDirectory,
        routes: BusRoutes,
        announcedIn file: EndpointFile? = nil,
        inFlight: Int = 64,
        metrics: Metrics,
        log: Log,
        random: RandomSource = .system
    ) throws(BusConfigurationError) {
        self.name = name
        self.runtime = runtime
        let log = log.with(["server": .string(name)])
        let curve = try security.serverCurve(endpoint)
        announcement = file.map { ($0, endpoint.isLocal ? nil : curve?.keys.publicKey) }
        self.log = log
        let counters = BusServerMetrics(metrics, server: name)
        dispatcher = BusDispatcher(
            routes: routes,
            authority: curve?.authority,
            metrics: counters,
            log: log,
            random: random
        )
        link = BusServerLink(
            runtime: runtime,
            settings: .init(
                endpoint: endpoint,
                curve: curve.map { ($0.keys, $0.authority, runtime.uniqueName(name)) },
                inFlight: max(1, inFlight)
            ),
            dispatcher: dispatcher,
            metrics: counters,
            log: log
        )
    }

    /// The endpoint of a process: named after it, part of its readiness as `bus`, its tcp port noted.
    package convenience init(
        runtime: BusRuntime,
        context: ProcessContext,
        endpoint: BusEndpoint,
        security: BusSecurity,
        routes: BusRoutes,
        announcedIn file: EndpointFile? = nil,
        inFlight: Int = 64
    ) throws(BusConfigurationError) {
        try self.init(
            runtime: runtime,
            name: context.name,
            endpoint: endpoint,
            security: security,
            routes: routes,
            announcedIn: file,
            inFlight: inFlight,
            metrics: context.metrics,
            log: context.log,
            random: context.random
        )
        context.readiness.set("bus", .waiting("\(endpoint.address) is not bound yet"))
        standing.withLock { standing in
            standing.observer = { bound in
                if case .tcp(_, let port) = bound.transport { context.ports.set("bus", port) }
                context.readiness.set("bus", .ok)
            }
        }
    }

    /// Binds, answers until `stop`, then finishes what is in flight and unbinds; its endpoint stands in
    /// the file of endpoints meanwhile.
    ///
    /// Throws when the endpoint cannot be bound ("already running") or when authentication of the
    /// process has failed.
    package func run(until stop: StopSignal) async throws {
        var announced: BusEndpoint?
        do {
            let bound = try await link.open()
            announced = try announce(bound)
            settle(bound)
        } catch {
            settle(nil)
            await link.close()
            throw error
        }
        let registration = stop.onTrigger { [link, announced] in
            // Peers take their leave before the intake ends.
            self.withdraw(announced)
            link.endIntake()
        }
        await withDiscardingTaskGroup { group in
            while case let batch = await link.incoming.nextBatch(max: 64), !batch.isEmpty {
                for message in batch {
                    group.addTask { [link, dispatcher] in
                        let answer = await dispatcher.respond(to: message, link)
                        link.finish(message.envelope, answer)
                    }
                }
            }
        }
        stop.remove(registration)
        if let failure = await link.close() { throw failure }
    }

    private func announce(
        _ bound: BusEndpoint
    ) throws(BusConfigurationError) -> BusEndpoint? {
        guard let (file, key) = announcement else { return nil }
        let endpoint = BusEndpoint(bound.transport, serverKey: key)
        try file.add(endpoint)
        return endpoint
    }

    private func withdraw(_ endpoint: BusEndpoint?) {
        guard let endpoint, let (file, _) = announcement else { return }
        do throws(BusConfigurationError) {
            try file.remove(endpoint)
        } catch {
            log.warning("endpoint stays announced", ["error": .error(error)])
        }
    }

    /// The endpoint in use, with the real port, once bound; nil when binding failed.
    package func bound() async -> BusEndpoint? {
        await withCheckedContinuation { continuation in
            let answer = standing.withLock { standing -> BusEndpoint?? in
                if standing.endpoint != nil || standing.ended { return .some(standing.endpoint) }
                standing.waiters.append(continuation)
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    private func settle(_ endpoint: BusEndpoint?) {
        let (waiters, observer) = standing.withLock { standing in
            standing.endpoint = endpoint
            standing.ended = true
            defer { standing.waiters = [] }
            return (standing.waiters, standing.observer)
        }
        if let endpoint { observer?(endpoint) }
        for waiter in waiters { waiter.resume(returning: endpoint) }
    }
}
