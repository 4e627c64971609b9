/// How a row is claimed again after claims that ended without an outcome.
package enum CrashRule: Hashable, Sendable {
    /// In a batch with others.
    case together
    /// With nothing else in flight, so that a crash can be blamed on it.
    case alone
    /// Not any more: it ends permanent.
    case quarantine

    /// Claims without an outcome from which a row is claimed alone.
    package static let aloneFrom: Int64 = 2
    /// Crashes while alone after which a row is given up.
    package static let loneCrashLimit: Int64 = 3

    /// The rule for a row by its claims without an outcome, before the next claim.
    package init(claims: Int64) {
        if claims < Self.aloneFrom {
            self = .together
        } else if claims < Self.aloneFrom + Self.loneCrashLimit {
            self = .alone
        } else {
            self = .quarantine
        }
    }
}
