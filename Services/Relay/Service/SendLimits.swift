import Contracts
import Loop
import RelayCore

/// The limits of the public endpoint: best effort, per process, in bounded memory.
package final class SendLimits: Sendable {
    package struct Settings: Hashable, Sendable {
        /// Requests that are worked on at once.
        package var concurrent = 32
        /// Requests a minute from one source address (IPv6: one /64).
        package var perSource = 120
        /// Sends a minute to one device token of an environment.
        package var perTarget = 60
        /// Requests a minute of this process.
        package var perInstance = 600
        /// Sources and targets that are kept apart.
        package var entries = 4096
        /// Bytes that a request body may have.
        package var bodyBytes = 8192
        /// Seconds that `expires_at` of a message may lie ahead, on the bus as well.
        package var horizon: Int64 = 1800

        package init() {}
    }

    private struct Target: Hashable, Sendable {
        let environment: APNsEnvironment
        let token: String
    }

    private struct State {
        var working = 0
        var instance: FixedWindow<Int>
        var sources: FixedWindow<SourceKey>
        var targets: FixedWindow<Target>
    }

    package let settings: Settings
    private let state: Locked<State>

    package init(_ settings: Settings) {
        self.settings = settings
        state = Locked(
            State(
                instance: FixedWindow(limit: settings.perInstance, capacity: 1),
                sources: FixedWindow(limit: settings.perSource, capacity: settings.entries),
                targets: FixedWindow(limit: settings.perTarget, capacity: settings.entries)
            )
        )
    }

    /// Requests that are worked on now.
    package var working: Int { state.withLock { $0.working } }

    /// Whether one more request may be worked on; each true needs one ``leave()``.
    package func enter() -> Bool {
        state.withLock { state in
            guard state.working < settings.concurrent else { return false }
            state.working += 1
            return true
        }
    }

    package func leave() { state.withLock { $0.working -= 1 } }

    /// Counts a request against the instance, then against its source.
    package func admitRequest(from source: String, nowMilliseconds now: Int64) -> Bool {
        let source = SourceKey(source)
        return state.withLock { state in
            state.instance.admit(0, nowMilliseconds: now)
                && state.sources.admit(source, nowMilliseconds: now)
        }
    }

    /// Counts a send against its device.
    package func admitTarget(
        _ token: DeviceToken,
        _ environment: APNsEnvironment,
        nowMilliseconds now: Int64
    ) -> Bool {
        let target = Target(environment: environment, token: token.hex)
        return state.withLock { $0.targets.admit(target, nowMilliseconds: now) }
    }
}
