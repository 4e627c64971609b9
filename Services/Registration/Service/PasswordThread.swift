import Contracts
import Loop
import PushBusCrypto
import RegistrationCore
import ServiceKit

/// Hashes and verifies passwords one at a time on a thread of its own: argon2id takes tens of
/// milliseconds and megabytes by design. Beyond a short queue it refuses.
package final class PasswordThread: Sendable {
    /// The queue is full.
    package struct Full: Error {}

    /// How many may wait, the one that is being hashed included.
    package static let defaultCapacity = 16

    private let thread: SerialThread
    private let cost: PasswordHash.Cost
    private let capacity: Int
    private let waiting = Locked(0)
    private let checks: Counter

    package init(
        cost: PasswordHash.Cost = .frugal,
        capacity: Int = defaultCapacity,
        metrics: Metrics = Metrics()
    ) throws(SystemCallError) {
        thread = try SerialThread(name: "password")
        self.cost = cost
        self.capacity = capacity
        checks = metrics.counter(
            "pushbus_registration_password_checks_total",
            help: "Passwords that were hashed, of accounts that exist or not"
        )
    }

    package func hash(_ password: Password) async throws -> String {
        let cost = cost
        return try await run {
            try PasswordHash.hashBlocking(SecretBytes(Array(password.text.utf8)), cost: cost)
        }
    }

    /// Whether the password fits; without a hash it takes as long and is false.
    package func verify(_ password: Password, against hash: String?) async throws -> Bool {
        let cost = cost
        return try await run {
            let secret = SecretBytes(Array(password.text.utf8))
            if let hash { return PasswordHash.verifyBlocking(secret, against: hash) }
            _ = try PasswordHash.hashBlocking(secret, cost: cost)
            return false
        }
    }

    package func stop() {
        thread.stop()
    }

    private func run<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> sending Value
    ) async throws -> Value {
        let capacity = capacity
        let entered = waiting.withLock { waiting -> Bool in
            guard waiting < capacity else { return false }
            waiting += 1
            return true
        }
        guard entered else { throw Full() }
        defer { waiting.withLock { $0 -= 1 } }
        checks.add()
        return try await thread.run(body)
    }
}
