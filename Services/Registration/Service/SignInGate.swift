import Contracts
import Glibc
import Loop
import PushBusCrypto
import RegistrationCore
import ServiceKit

/// Holds back who tries too often, by account and by source.
package final class SignInGate: Sendable {
    private let throttle = Locked(SignInThrottle())
    private let time: any TimeSource
    private let metrics: Metrics
    /// Makes the hashes of this process its own.
    private let salt: [UInt8]

    package init(time: any TimeSource, random: RandomSource, metrics: Metrics) {
        self.time = time
        self.metrics = metrics
        salt = random.bytes(16)
    }

    /// An attempt that was let in.
    package struct Attempt: Sendable {
        fileprivate let action: SignInThrottle.Action
        fileprivate let account: AttemptKey?
        fileprivate let source: AttemptKey?
    }

    /// Lets an attempt in or throws ``RequestProblem/tooManyAttempts(milliseconds:)``. `account` is
    /// what the caller says it is; nil where nothing names one.
    package func enter(
        _ action: SignInThrottle.Action,
        account: String? = nil,
        source: String?
    ) throws(RequestProblem) -> Attempt {
        let attempt = Attempt(
            action: action,
            account: account.map(key),
            source: source.map { key(Self.network(of: $0)) }
        )
        let now = time.monotonic.nanoseconds / 1_000_000
        let wait = throttle.withLock { throttle in
            throttle.attempt(action, account: attempt.account, source: attempt.source, now: now)
        }
        guard let wait else { return attempt }
        metrics.counter(
            "pushbus_registration_throttled_total",
            help: "Attempts that were not made because there had been too many",
            labels: ["action": action.rawValue]
        ).add()
        throw .tooManyAttempts(milliseconds: wait)
    }

    /// Says that an attempt was right.
    package func succeeded(_ attempt: Attempt) {
        throttle.withLock { throttle in
            throttle.succeeded(attempt.action, account: attempt.account, source: attempt.source)
        }
    }

    private func key(_ text: String) -> AttemptKey {
        AttemptKey(hash: SHA256.hash(salt + Array(text.utf8)))
    }

    /// The /64 of an IPv6 address, which one customer has whole; other text as it is.
    static func network(of source: String) -> String {
        var address = in6_addr()
        let literal = String(source.prefix { $0 != "%" })
        guard inet_pton(AF_INET6, literal, &address) == 1 else { return source }
        let bytes = withUnsafeBytes(of: &address) { Array($0) }
        let isMapped = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 255 && bytes[11] == 255
        if isMapped { return bytes[12...].map { String($0) }.joined(separator: ".") }
        return Hex.encode(bytes[..<8])
    }
}
