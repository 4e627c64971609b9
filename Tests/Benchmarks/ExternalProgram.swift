import FoundationEssentials
import Glibc

/// A program that a benchmark starts, under a time limit; its output goes to a file.
final class ExternalProgram {
    /// How a program ended and what it used.
    struct Result {
        var code: Int32
        var output: String
        /// CPU time of the program and its children, in seconds.
        var cpuSeconds: Double
    }

    private let pid: pid_t
    private let outputPath: String
    private var isReaped = false

    /// Starts the program through timeout(1), which ends it after the limit.
    init(
        _ path: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        output: String,
        limitSeconds: Int = 120
    ) throws {
        outputPath = output
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        // A task's thread blocks most signals, and a child would inherit that.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        var argv = (["timeout", "\(limitSeconds)", path] + arguments).map { strdup($0) } + [nil]
        var envp = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for pointer in argv + envp { free(pointer) } }
        var id = pid_t()
        let code = posix_spawn(&id, "/usr/bin/timeout", &actions, &attributes, &argv, &envp)
        guard code == 0 else {
            throw BenchFailure("cannot start \(path): \(String(cString: strerror(code)))")
        }
        pid = id
    }

    deinit { stop() }

    /// Waits for its end.
    func wait() -> Result {
        var status: Int32 = 0
        var usage = rusage()
        while wait4(pid, &status, 0, &usage) < 0, errno == EINTR {}
        isReaped = true
        let output = (try? Data(contentsOf: URL(filePath: outputPath))) ?? Data()
        return Result(
            code: status >> 8 & 0xFF,
            output: String(decoding: output, as: UTF8.self),
            cpuSeconds: CPUTime.seconds(usage)
        )
    }

    /// Ends it and waits for its end.
    func stop() {
        guard !isReaped else { return }
        kill(pid, SIGTERM)
        _ = wait()
    }

    /// Finds a program in PATH and the folders of system tools.
    static func find(_ name: String, package: String) throws -> String {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let folders = path.split(separator: ":").map(String.init) + ["/usr/sbin", "/usr/bin"]
        for folder in folders where access("\(folder)/\(name)", X_OK) == 0 {
            return "\(folder)/\(name)"
        }
        throw BenchFailure("\(name) is missing: install the package \(package)")
    }

    /// A program of this package, built beside this one.
    static func sibling(_ name: String) throws -> String {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = buffer.withUnsafeMutableBytes { bytes in
            bytes.baseAddress.map { readlink("/proc/self/exe", $0, bytes.count) } ?? 0
        }
        let own = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
        let folder = own.split(separator: "/").dropLast().joined(separator: "/")
        let path = "/\(folder)/\(name)"
        guard access(path, X_OK) == 0 else {
            throw BenchFailure("\(path) is missing: swift build -c release --product \(name)")
        }
        return path
    }
}

/// CPU time of processes.
enum CPUTime {
    /// User and system time of this process, in seconds.
    static var own: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return seconds(usage)
    }

    static func seconds(_ usage: rusage) -> Double {
        Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
            + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1_000_000
    }
}
