import Contracts
import HTTP2
import Loop
import PushBusCrypto
import RelayCore
import ServiceKit

/// Turns checked messages into verdicts: the part that both interfaces share.
package final class Relay: Service {
    package let name = "apns"
    private let transport: Transport
    private let payload: PushPayload
    private let time: any TimeSource
    private let log: Log

    /// What is needed to reach APNs.
    private enum Transport: Sendable {
        /// Credentials are missing or unusable, and why.
        case notConfigured(String)
        case ready(HTTP2Loop, NameResolver, [APNsEnvironment: APNsPool])
    }

    /// Credentials and transport are in order: one pool for each enabled environment.
    package init(
        pools configurations: [APNsPool.Configuration],
        profile: AppProfile,
        context: ProcessContext
    ) throws {
        let loop = try HTTP2Loop(name: "apns")
        let resolver = NameResolver()
        var pools: [APNsEnvironment: APNsPool] = [:]
        for configuration in configurations {
            pools[configuration.environment] = APNsPool(
                configuration,
                loop: loop,
                resolver: resolver,
                time: context.time,
                random: context.random,
                metrics: context.metrics,
                log: context.log
            )
        }
        transport = .ready(loop, resolver, pools)
        payload = PushPayload(profile)
        time = context.time
        log = context.log
        context.readiness.set("credentials", .ok)
    }

    /// Without usable credentials every message is answered `RelayNotConfigured`.
    package init(notConfigured reason: String, profile: AppProfile, context: ProcessContext) {
        transport = .notConfigured(reason)
        payload = PushPayload(profile)
        time = context.time
        log = context.log
        context.readiness.set("credentials", .lacking(reason))
        context.log.error("apns credentials are missing or unusable", ["reason": .string(reason)])
    }

    /// Whether credentials are there.
    package var isConfigured: Bool {
        if case .ready = transport { true } else { false }
    }

    /// The environments that are served; empty without credentials.
    package func serves(_ environment: APNsEnvironment) -> Bool {
        pool(environment) != nil
    }

    package func run(until stop: StopSignal) async throws {
        guard case .ready(let loop, let resolver, let pools) = transport else {
            await stop.wait()
            return
        }
        await withDiscardingTaskGroup { group in
            for pool in pools.values { group.addTask { await pool.run(until: stop) } }
            await stop.wait()
        }
        await withDiscardingTaskGroup { group in
            for pool in pools.values { group.addTask { await pool.stop() } }
        }
        resolver.stop()
        loop.stop()
    }

    /// From now on messages that wait, and new ones, are answered retryable; what APNs is answering
    /// goes on.
    package func refuseWaiting() {
        guard case .ready(let loop, _, let pools) = transport else { return }
        for pool in pools.values {
            loop.executor.execute { pool.assumeIsolated { $0.refuseWaiting() } }
        }
    }

    /// The verdict of one message, checked before; returns when it is known.
    package func send(_ message: RelaySend.Message) async -> RelayVerdict {
        switch prepare(message) {
        case .verdict(let verdict): verdict
        case .push(let pool, let push): await pool.send(push)
        }
    }

    /// The verdicts of many messages, as soon as they are known and those together that became known
    /// together. The closure may be called on any thread; it gets each place in the list once.
    package func send(
        _ messages: [RelaySend.Message],
        completion: @escaping @Sendable ([(place: Int, verdict: RelayVerdict)]) -> Void
    ) async {
        var known: [(place: Int, verdict: RelayVerdict)] = []
        var batches: [APNsEnvironment: (pool: APNsPool, places: [Int], pushes: [Push])] = [:]
        for (place, message) in messages.enumerated() {
            switch prepare(message) {
            case .verdict(let verdict): known.append((place, verdict))
            case .push(let pool, let push):
                batches[message.environment, default: (pool, [], [])].places.append(place)
                batches[message.environment]?.pushes.append(push)
            }
        }
        if !known.isEmpty { completion(known) }
        for batch in batches.values {
            let places = batch.places
            await batch.pool.enqueue(batch.pushes) { verdicts in
                completion(verdicts.map { (places[$0.place], $0.verdict) })
            }
        }
    }

    private enum Prepared {
        case verdict(RelayVerdict)
        case push(APNsPool, Push)
    }

    private func prepare(_ message: RelaySend.Message) -> Prepared {
        guard isConfigured else { return .verdict(.notConfigured) }
        guard let pool = pool(message.environment) else { return .verdict(.environmentDisabled) }
        guard message.expiresAt > time.wall.second else { return .verdict(.expired) }
        guard let bytes = payload.bytes(for: message.envelope) else {
            return .verdict(.payloadTooLarge)
        }
        let push = Push(
            deviceToken: message.deviceToken,
            apnsID: PushIdentity.apnsID(
                eventID: message.eventID,
                deviceToken: message.deviceToken,
                sha256: { SHA256.hash($0) }
            ),
            collapseID: message.eventID.description,
            expiresAt: message.expiresAt,
            payload: bytes,
            isYoung: message.isYoung
        )
        return .push(pool, push)
    }

    private func pool(_ environment: APNsEnvironment) -> APNsPool? {
        guard case .ready(_, _, let pools) = transport else { return nil }
        return pools[environment]
    }
}
