import Glibc
import Loop

/// Where randomness comes from; a parameter everywhere, so that tests can repeat a run.
package struct RandomSource: RandomNumberGenerator, Sendable {
    private enum Origin {
        case system
        case seeded(Locked<UInt64>)
    }

    private let origin: Origin

    /// The operating system's generator, fit for secrets.
    package static let system = RandomSource(origin: .system)

    /// A repeatable sequence for tests; copies share one position. Never for secrets.
    package static func seeded(_ seed: UInt64) -> RandomSource {
        RandomSource(origin: .seeded(Locked(seed)))
    }

    /// 64 random bits.
    package func next() -> UInt64 {
        switch origin {
        case .system:
            var value: UInt64 = 0
            withUnsafeMutableBytes(of: &value) { Self.fill($0) }
            return value
        case .seeded(let position):
            return position.withLock { Self.splitMix(&$0) }
        }
    }

    /// A number from 0 up to, but not including, a bound above zero, all equally likely.
    package func uniform(below bound: UInt64) -> UInt64 {
        precondition(bound > 0, "nothing is below zero")
        var generator = self
        return UInt64.random(in: 0..<bound, using: &generator)
    }

    /// A number from 0 up to, but not including, 1.
    package func unit() -> Double {
        Double(next() >> 11) * 0x1p-53
    }

    /// That many random bytes.
    package func bytes(_ count: Int) -> [UInt8] {
        guard count > 0 else { return [] }
        var bytes = [UInt8](repeating: 0, count: count)
        switch origin {
        case .system: bytes.withUnsafeMutableBytes { Self.fill($0) }
        case .seeded: for index in bytes.indices { bytes[index] = UInt8(next() >> 56) }
        }
        return bytes
    }

    /// getentropy(3) takes 256 bytes at a time and cannot fail once the kernel's pool is ready.
    private static func fill(_ target: UnsafeMutableRawBufferPointer) {
        var start = 0
        while start < target.count {
            let end = min(start + 256, target.count)
            let part = UnsafeMutableRawBufferPointer(rebasing: target[start..<end])
            let result = getentropy(part.baseAddress, part.count)
            precondition(result == 0, "the kernel gives no random bytes")
            start = end
        }
    }

    /// SplitMix64 (Steele, Lea and Flood 2014).
    private static func splitMix(_ state: inout UInt64) -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
