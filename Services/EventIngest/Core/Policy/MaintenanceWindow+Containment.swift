import Contracts

extension MaintenanceWindow {
    /// Whether an instant lies inside, whatever the server; nil when the zone's data cannot be had.
    ///
    /// A weekly window lasts from the first instant at which the local clock shows `from` until the
    /// last one at which it shows `until`; a time that the clock leaves out is the instant at which
    /// it is put forward.
    package func contains(_ instant: UnixMilliseconds, zones: @escaping ZoneOffset) -> Bool? {
        let second = instant.second.seconds
        if let once {
            return once.from.seconds <= second && second < once.until.seconds
        }
        guard let weekly else { return false }
        let clock = LocalClock(zone: weekly.zone, offset: zones)
        guard let today = clock.day(at: second) else { return nil }
        let from = weekly.from.minutes * 60
        let isOvernight = weekly.until.minutes <= weekly.from.minutes
        let until = weekly.until.minutes * 60 + (isOvernight ? LocalClock.secondsPerDay : 0)
        for day in (today - 2)...(today + 1)
        where weekly.days.contains(Weekday(daysSinceEpoch: day)) {
            let midnight = day * LocalClock.secondsPerDay
            guard
                let begin = clock.instants(of: midnight + from)?.first,
                let end = clock.instants(of: midnight + until)?.last
            else { return nil }
            if begin <= second && second < end { return true }
        }
        return false
    }
}

/// What the maintenance windows say about a server at an instant.
package enum MaintenanceState: Hashable, Sendable {
    case clear
    /// Inside the window of this id.
    case inside(String)
    /// A window cannot be decided because its zone's data cannot be had.
    case unknown
}

extension Policy {
    /// Asks the enabled windows that cover the server; a certain answer wins over an unknown one.
    package func maintenance(
        of server: String,
        at instant: UnixMilliseconds,
        zones: @escaping ZoneOffset
    ) -> MaintenanceState {
        var state = MaintenanceState.clear
        for window in windows where window.isEnabled && window.coverage.covers(server) {
            switch window.contains(instant, zones: zones) {
            case true?: return .inside(window.id)
            case false?: break
            case nil: state = .unknown
            }
        }
        return state
    }
}
