import ServiceKit

/// A process to start: what, with which surroundings, and what to do when it ends.
package struct ProcessPlan: Sendable {
    /// Where a process's standard output and standard error go.
    package enum Output: Sendable, Hashable {
        /// Where the supervisor's own go.
        case inherited
        /// To the supervisor's standard error, each line after the process's name.
        case prefixed
        /// To the end of a file, by absolute path.
        case file(String)
    }

    /// The name it is addressed by, unique within a supervisor.
    package var name: String
    /// The absolute path of the program.
    package var executable: String
    package var arguments: [String]
    /// All its variables: nothing is inherited but `PATH`, `HOME`, `TMPDIR` and `LANG`.
    package var environment: [String: String]
    /// The file it writes when it is ready; nil for a process that is ready once started.
    package var readyFile: String?
    package var output: Output
    package var restart: RestartPolicy

    package init(
        name: String,
        executable: String,
        arguments: [String] = [],
        environment: [String: String] = [:],
        readyFile: String? = nil,
        output: Output = .inherited,
        restart: RestartPolicy = .never
    ) {
        self.name = name
        self.executable = executable
        self.arguments = arguments
        self.environment = environment
        self.readyFile = readyFile
        self.output = output
        self.restart = restart
    }
}

/// What happens when a process ends although nobody stopped it.
package enum RestartPolicy: Hashable, Sendable {
    /// It stays ended.
    case never
    /// It is started again after a wait that grows with each end in a row; a run of a minute
    /// counts as sound and starts the row anew. Bad settings end it for good.
    case always(Backoff)

    /// Restarts after at most a second at first and at most half a minute later.
    package static let standard = RestartPolicy.always(
        Backoff(base: .seconds(1), cap: .seconds(30))
    )
}

/// What becomes of the output of all processes of a topology.
package enum ProcessOutput: Hashable, Sendable {
    case inherited
    case prefixed
    /// One file per process, `<name>.log`, in the topology's directory.
    case files

    func destination(for name: String, in directory: String) -> ProcessPlan.Output {
        switch self {
        case .inherited: .inherited
        case .prefixed: .prefixed
        case .files: .file("\(directory)/\(name).log")
        }
    }
}

/// How a process ended.
package enum ExitStatus: Hashable, Sendable, CustomStringConvertible {
    /// By itself, with that code.
    case exited(Int32)
    /// By that signal.
    case killed(Int32)

    /// How our processes end when their settings are wrong (sysexits.h): starting them again with
    /// the same ones is of no use.
    package static let badSettings = ExitStatus.exited(78)

    package var description: String {
        switch self {
        case .exited(let code): "exit code \(code)"
        case .killed(let signal): "signal \(signal)"
        }
    }
}
