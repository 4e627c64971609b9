import Contracts

/// What a verdict of the provider does to a registration.
package enum Cleanup: Hashable, Sendable {
    /// It is about a registration that no longer is.
    case stale
    case forget
    case doubt(CleanupKind)

    /// `tokenHash` is the SHA-256 of the token registered now.
    package static func decide(
        _ item: RegistrationCleanup.Item,
        _ installation: Installation?,
        tokenHash: Blob
    ) -> Cleanup {
        guard let installation, let registration = installation.registration,
            installation.binding == item.binding, tokenHash == item.tokenHash
        else { return .stale }
        if item.kind == .dead, let moment = item.apnsTimestamp {
            return moment > registration.confirmedAt ? .forget : .stale
        }
        guard item.confirmedAt == registration.confirmedAt else { return .stale }
        // Dead without a time stamp cannot be ordered against a confirmation: only a doubt.
        return .doubt(item.kind == .dead ? .suspect : item.kind)
    }
}

/// Holds clean-up back while suspiciously many devices seem to fail at once, because then the fault
/// is more likely ours: a wrong topic, key or environment.
package enum MassFailureGuard {
    /// How far back verdicts count, in milliseconds.
    package static let windowMilliseconds: Int64 = 600_000
    /// Verdicts are summed up in steps of this length, in milliseconds.
    package static let stepMilliseconds: Int64 = 10_000
    package static let leastVerdicts: Int64 = 50
    package static let percent: Int64 = 20

    /// Verdicts of one environment within the window.
    package struct Sum: Hashable, Sendable {
        package var verdicts: Int64
        /// Those that name a token dead, suspect or of another topic.
        package var failures: Int64

        package init(verdicts: Int64 = 0, failures: Int64 = 0) {
            self.verdicts = verdicts
            self.failures = failures
        }
    }

    /// Whether clean-up has to be held.
    package static func stands(_ sum: Sum) -> Bool {
        sum.verdicts >= leastVerdicts && sum.failures * 100 > sum.verdicts * percent
    }

    /// What is new since the sender's totals were last seen; totals that shrank count as nothing.
    package static func difference(
        from old: RegistrationCleanup.Totals,
        to new: RegistrationCleanup.Totals
    ) -> Sum {
        let verdicts = new.verdicts.subtractingReportingOverflow(old.verdicts)
        let failures = failures(of: new).subtractingReportingOverflow(failures(of: old))
        guard !verdicts.overflow, !failures.overflow, verdicts.partialValue >= 0,
            failures.partialValue >= 0
        else { return Sum() }
        return Sum(verdicts: verdicts.partialValue, failures: failures.partialValue)
    }

    private static func failures(of totals: RegistrationCleanup.Totals) -> Int64 {
        // Beyond this no sender counts; it keeps a hostile sum from overflowing.
        let most: Int64 = 1 << 50
        return min(max(totals.dead, 0), most) + min(max(totals.suspect, 0), most)
            + min(max(totals.topic, 0), most)
    }
}
