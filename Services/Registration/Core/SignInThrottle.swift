/// How often somebody may try to get in; the same whether or not an account exists.
package struct SignInThrottle: Sendable {
    /// What is tried. Each is counted on its own.
    package enum Action: String, CaseIterable, Sendable {
        /// A password, with or without a one-time code.
        case password
        /// A pairing code that is traded.
        case pair
        case refresh
        /// A pairing code that is asked for.
        case issue
        /// A proof that ends a session.
        case revoke
    }

    /// How many attempts fit into a window.
    package struct Limits: Hashable, Sendable {
        package var perAccount: Int
        package var perSource: Int

        package init(perAccount: Int, perSource: Int) {
            self.perAccount = perAccount
            self.perSource = perSource
        }

        package static func of(_ action: Action) -> Self {
            switch action {
            case .password: Self(perAccount: 10, perSource: 50)
            case .pair: Self(perAccount: 20, perSource: 20)
            case .refresh: Self(perAccount: 200, perSource: 100)
            case .issue: Self(perAccount: 30, perSource: 50)
            case .revoke: Self(perAccount: 50, perSource: 50)
            }
        }
    }

    /// Length of a window.
    package static let windowMilliseconds: Int64 = 900_000
    /// Accounts and sources that are kept apart, for each action.
    package static let capacity = 4096

    private var accounts: [Action: AttemptWindows] = [:]
    private var sources: [Action: AttemptWindows] = [:]

    package init(capacity: Int = Self.capacity) {
        for action in Action.allCases {
            let limits = Limits.of(action)
            accounts[action] = Self.windows(limits.perAccount, capacity)
            sources[action] = Self.windows(limits.perSource, capacity)
        }
    }

    private static func windows(_ attempts: Int, _ capacity: Int) -> AttemptWindows {
        AttemptWindows(
            attempts: attempts,
            milliseconds: windowMilliseconds,
            capacity: capacity
        )
    }

    /// Counts an attempt before it is made. Nil when it may be made, else the milliseconds until
    /// another one is taken; a refused attempt counts nowhere.
    package mutating func attempt(
        _ action: Action,
        account: AttemptKey?,
        source: AttemptKey?,
        now: Int64
    ) -> Int64? {
        let waits = [
            account.flatMap { accounts[action]?.wait($0, now: now) },
            source.flatMap { sources[action]?.wait($0, now: now) },
        ]
        if let wait = waits.compactMap(\.self).max() { return wait }
        if let account { accounts[action]?.add(account, now: now) }
        if let source { sources[action]?.add(source, now: now) }
        return nil
    }

    /// Takes an attempt back, because it was right.
    package mutating func succeeded(
        _ action: Action,
        account: AttemptKey?,
        source: AttemptKey?
    ) {
        if let account { accounts[action]?.takeBack(account) }
        if let source { sources[action]?.takeBack(source) }
    }
}
