import FoundationEssentials
import Glibc
import Loop

/// One started process, until it is reaped.
///
/// It leads a process group of its own, so that ctrl-C at the terminal reaches the supervisor only
/// and whatever it leaves behind can be ended with it. posix_spawn offers no way to end a child
/// when its parent dies, so the child holds the reading end of a pipe (`PUSHBUS_LIFELINE_FD`)
/// whose writing end lives here; ServiceKit stops the process when that pipe ends.
final class ChildProcess: Sendable {
    let pid: pid_t
    private let lifeline: Int32
    private let status = Locked<ExitStatus?>(nil)

    /// The descriptor of the lifeline in the child.
    private static let lifelineDescriptor: Int32 = 3
    private static let inheritedVariables = ["PATH", "HOME", "TMPDIR", "LANG", "LD_LIBRARY_PATH"]

    /// Starts the process; its end is reported once, on a thread of its own.
    init(_ plan: ProcessPlan, ended: @escaping @Sendable (ExitStatus) -> Void) throws {
        let ends = try PipeEnds()
        defer { close(ends.reading) }
        lifeline = ends.writing
        do {
            let output = try OutputTarget(plan)
            defer { output.closeChildEnd() }
            pid = try Self.spawn(plan, lifeline: ends.reading, output: output.descriptor)
            try output.startReading(name: plan.name)
            try DetachedThread.start(name: "wait \(plan.name)") { [self] in ended(reap()) }
        } catch {
            close(ends.writing)
            throw error
        }
    }

    /// Sends a signal to the process; false when it has ended.
    @discardableResult
    func send(_ signal: Int32) -> Bool {
        status.withLock { status in status == nil && kill(pid, signal) == 0 }
    }

    /// Sends a signal to the process and all it started.
    func sendToGroup(_ signal: Int32) {
        status.withLock { status in
            if status == nil { _ = kill(-pid, signal) }
        }
    }

    /// Waits for the end, ends what is left of the group and frees the process id.
    private func reap() -> ExitStatus {
        var info = siginfo_t()
        // The id stays taken until `waitpid` below, so that no signal can meet a stranger.
        while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR {}
        let result = status.withLock { status in
            _ = kill(-pid, SIGKILL)
            var raw: Int32 = 0
            while waitpid(pid, &raw, 0) < 0 && errno == EINTR {}
            let signal = raw & 0x7F
            let ended: ExitStatus = signal == 0 ? .exited((raw >> 8) & 0xFF) : .killed(signal)
            status = ended
            return ended
        }
        close(lifeline)
        return result
    }

    private static func spawn(
        _ plan: ProcessPlan,
        lifeline: Int32,
        output: Int32?
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        if let output {
            posix_spawn_file_actions_adddup2(&actions, output, 1)
            posix_spawn_file_actions_adddup2(&actions, output, 2)
        }
        posix_spawn_file_actions_adddup2(&actions, lifeline, lifelineDescriptor)
        // Whatever else this process has open without close-on-exec is none of the child's.
        SpawnActions.closeAll(from: lifelineDescriptor + 1, in: &actions)

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        // A handler set to "ignore" would survive exec.
        for signal in [SIGPIPE, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGCHLD] {
            sigaddset(&signals, signal)
        }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setpgroup(&attributes, 0)
        let flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
        posix_spawnattr_setflags(&attributes, Int16(flags))

        var pid: pid_t = 0
        let result = withCStrings([plan.executable] + plan.arguments) { arguments in
            withCStrings(variables(plan)) { environment in
                posix_spawn(&pid, plan.executable, &actions, &attributes, arguments, environment)
            }
        }
        guard result == 0 else {
            let reason = String(cString: strerror(result))
            throw TopologyError("\(plan.executable) cannot be started: \(reason)")
        }
        return pid
    }

    private static func variables(_ plan: ProcessPlan) -> [String] {
        let own = ProcessInfo.processInfo.environment
        var all = plan.environment
        for name in inheritedVariables where all[name] == nil { all[name] = own[name] }
        all["PUSHBUS_LIFELINE_FD"] = "\(lifelineDescriptor)"
        return all.map { "\($0.key)=\($0.value)" }
    }

    private static func withCStrings<Result>(
        _ texts: [String],
        _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let copies = texts.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return body(copies + [nil])
    }
}
