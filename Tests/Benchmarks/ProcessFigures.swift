import FoundationEssentials
import Glibc

/// Figures of a process from /proc (proc(5)).
enum ProcessFigures {
    /// User and system time so far, in seconds, in steps of a clock tick.
    static func cpuSeconds(_ pid: Int32) throws -> Double {
        let text = try read("/proc/\(pid)/stat")
        // The name in parentheses may hold spaces; fields 14 and 15 follow it.
        guard let end = text.lastIndex(of: ")") else { throw BenchFailure("/proc is strange") }
        let fields = text[text.index(after: end)...].split(separator: " ")
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12])
        else { throw BenchFailure("/proc is strange") }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Proportional set size in MiB.
    static func memoryMiB(_ pid: Int32) throws -> Double {
        for line in try read("/proc/\(pid)/smaps_rollup").split(separator: "\n")
        where line.hasPrefix("Pss:") {
            let words = line.split(separator: " ")
            if words.count > 1, let kib = Double(words[1]) { return kib / 1024 }
        }
        throw BenchFailure("/proc/\(pid)/smaps_rollup has no Pss")
    }

    private static func read(_ path: String) throws -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw BenchFailure("\(path) cannot be read") }
        defer { close(file) }
        var buffer = [UInt8](repeating: 0, count: 16_384)
        let count = Glibc.read(file, &buffer, buffer.count)
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }
}
