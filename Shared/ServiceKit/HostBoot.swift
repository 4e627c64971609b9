import Glibc

/// The run of this host's kernel since its start.
///
/// Processes with the same one read the same monotonic clock, in whatever container they are.
package enum HostBoot {
    /// The kernel's random UUID of this start (proc(5)); nil where there is none.
    package static func identifier(
        path: String = "/proc/sys/kernel/random/boot_id"
    ) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(descriptor, &bytes, bytes.count)
        guard count >= 36 else { return nil }
        return String(decoding: bytes[..<36], as: UTF8.self)
    }
}
