import Commands

/// The memory of a process, shared pages divided among those who share them.
enum ProcessMemory {
    /// Proportional set size in KiB from /proc; nil when the process is gone.
    static func proportionalKiB(_ pid: Int32) -> Int64? {
        guard let bytes = try? InputFile.read("/proc/\(pid)/smaps_rollup", limit: 64 << 10) else {
            return nil
        }
        return proportionalKiB(in: String(decoding: bytes, as: UTF8.self))
    }

    /// Reads the line `Pss: N kB` (proc(5)).
    static func proportionalKiB(in text: String) -> Int64? {
        for line in text.split(separator: "\n") where line.hasPrefix("Pss:") {
            let words = line.split(separator: " ")
            return words.count > 1 ? Int64(words[1]) : nil
        }
        return nil
    }
}
