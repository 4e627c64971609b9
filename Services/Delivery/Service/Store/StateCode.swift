import Contracts

/// The stored number of a row's state; numbers below 2 are open rows. Never renumbered.
enum StateCode {
    static func of(_ state: ReceiptState) -> Int64 {
        switch state {
        case .pending: 0
        case .retryable: 1
        case .accepted: 2
        case .permanent: 3
        case .expired: 4
        }
    }

    /// Nil for a number that no version wrote.
    static func state(_ code: Int64) -> ReceiptState? {
        ReceiptState.allCases.first { of($0) == code }
    }
}
