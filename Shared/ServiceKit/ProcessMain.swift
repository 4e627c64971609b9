import FoundationEssentials
import Glibc
import Loop

/// The one way a process starts: settings, then services, then an exit code.
///
/// Exit codes: 0 stopped in order, 1 a fault, 64 a bad argument, 78 bad settings (sysexits.h),
/// 128 plus the signal's number when stopped by force.
package enum ProcessMain {
    /// The version of all programs of this package.
    package static let version = "0.1.0"

    /// What a process runs.
    package struct Assembly: Sendable {
        package let services: [any Service]
        package let gracePeriod: Duration

        /// Services start in this order and stop in reverse; each has the grace period to stop.
        package init(_ services: [any Service], gracePeriod: Duration = .seconds(10)) {
            self.services = services
            self.gracePeriod = gracePeriod
        }
    }

    /// Reads the settings, opens what is needed and returns the services.
    ///
    /// It must call `finish()` on the reader after the last setting and before it opens anything:
    /// with `--help` and `--print-config` that call does not return.
    package typealias Build =
        @Sendable (inout EnvironmentReader, ProcessContext) async throws -> Assembly

    /// Runs a process of that name until it is asked to stop, and ends it.
    ///
    /// The prefix of its settings is `PUSHBUS_<NAME>_` and the program is called `pushbus-<name>`, unless
    /// others are given.
    package static func run(
        name: String,
        program: String? = nil,
        prefix: String? = nil,
        arguments: [String] = CommandLine.arguments,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        build: @escaping Build
    ) async -> Never {
        // A peer that went away is an error of the call, not the end of the process.
        signal(SIGPIPE, SIG_IGN)
        let code = await outcome(
            name: name,
            program: program ?? "pushbus-\(name)",
            prefix: prefix ?? "PUSHBUS_\(name.uppercased())_",
            arguments: Array(arguments.dropFirst()),
            environment: environment,
            print: { Swift.print($0, terminator: "") },
            build: build
        )
        fflush(nil)
        exit(code)
    }

    /// The exit code of a run; apart from `run` so that tests can call it.
    package static func outcome(
        name: String,
        program: String,
        prefix: String,
        arguments: [String],
        environment: [String: String],
        print: @Sendable (String) -> Void,
        sink: @escaping Log.Sink = Log.standardError,
        signals: SignalFeed = .process,
        build: Build
    ) async -> Int32 {
        switch arguments {
        case ["--version"]:
            print("\(program) \(version)\n")
            return 0
        case ["--help"], ["-h"]:
            print(await usage(name: name, program: program, prefix: prefix, build: build))
            return 0
        case ["--print-config"], []:
            break
        default:
            print("\(program) takes --help, --version or --print-config\n")
            return 64
        }
        var reader = EnvironmentReader(prefix: prefix, values: environment)
        let settings = ProcessSettings(&reader)
        let log = Log(
            level: settings.logLevel,
            fields: ["service": .string(name), "pid": .int(getpid())],
            sink: sink
        )
        let context = ProcessContext(name: name, log: log)
        do {
            if !arguments.isEmpty {
                print(try await printedSettings(reader, context, build))
                return 0
            }
            let assembly = try await build(&reader, context)
            precondition(reader.isFinished, "the assembly has to call finish() on its settings")
            try Lifeline.watch(environment[Lifeline.variable], raising: context.stop)
            log.info("starting", ["version": .string(version)])
            let services = settings.services(context) + assembly.services
            let code = await ServiceGroup(
                services + [ReadyAnnouncement(context: context, file: settings.readyFile)],
                gracePeriod: assembly.gracePeriod,
                log: log,
                signals: signals,
                stop: context.stop
            ).run()
            log.info("stopped", ["code": .int(code)])
            return code
        } catch let errors as ConfigurationErrors {
            for problem in errors.problems {
                log.error(
                    "bad setting",
                    ["variable": .string(problem.variable), "message": .string(problem.message)]
                )
            }
            return 78
        } catch {
            log.error("start failed", ["error": .error(error)])
            return 1
        }
    }

    /// Checks the settings and gives them back as text, without opening anything.
    private static func printedSettings(
        _ reader: EnvironmentReader,
        _ context: ProcessContext,
        _ build: Build
    ) async throws -> String {
        var checked = reader
        checked.endsAtFinish = true
        do {
            _ = try await build(&checked, context)
        } catch let errors as ConfigurationErrors where errors.problems.isEmpty {}
        return checked.printed()
    }

    private static func usage(
        name: String,
        program: String,
        prefix: String,
        build: Build
    ) async -> String {
        var reader = EnvironmentReader(prefix: prefix, values: [:], onlyDeclares: true)
        _ = ProcessSettings(&reader)
        // With this reader `finish()` always throws, once everything is declared.
        _ = try? await build(&reader, ProcessContext(name: name, log: .silent))
        return """
            \(program) \(version)

            Takes --help, --version or --print-config, otherwise it runs until SIGTERM or SIGINT.
            It is set up by these environment variables:

            \(reader.usage())
            """
    }
}
