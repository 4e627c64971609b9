extension EnvironmentReader {
    static func absolutePath(_ raw: String) throws -> String {
        guard raw.hasPrefix("/") else {
            throw SettingError("has to be an absolute path, one that starts with /")
        }
        return raw
    }

    /// A time such as `500ms`, `2s`, `1.5h`; nil when it is none.
    static func duration(_ raw: String) -> Duration? {
        let units: [(suffix: String, factor: Double)] = [
            ("ms", 0.001), ("s", 1), ("m", 60), ("h", 3_600),
        ]
        let unit = units.first { raw.hasSuffix($0.suffix) }
        let digits = raw.dropLast(unit?.suffix.count ?? 0)
        let isPlain = digits.utf8.allSatisfy { (48...57).contains($0) || $0 == 46 }
        guard isPlain, let number = Double(digits) else { return nil }
        let seconds = number * (unit?.factor ?? 1)
        // Beyond a century nobody means it, and Duration would trap far above.
        guard seconds.isFinite, seconds <= 3_155_760_000 else { return nil }
        return .milliseconds(Int64((seconds * 1_000).rounded()))
    }

    /// The shortest of the ways to write a time that `duration` reads back.
    static func text(_ duration: Duration) -> String {
        let milliseconds = duration.clampedNanoseconds / 1_000_000
        return switch milliseconds {
        case 0: "0s"
        case _ where milliseconds % 3_600_000 == 0: "\(milliseconds / 3_600_000)h"
        case _ where milliseconds % 60_000 == 0: "\(milliseconds / 60_000)m"
        case _ where milliseconds % 1_000 == 0: "\(milliseconds / 1_000)s"
        default: "\(milliseconds)ms"
        }
    }
}
