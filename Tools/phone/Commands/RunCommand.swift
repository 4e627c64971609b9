import Commands
import FoundationEssentials
import HTTPClient
import Loop
import PushBusDevice
import ServiceKit

/// `phone run`
enum RunCommand {
    static let command = Command(
        "run",
        "Signs in if needed, registers, and shows what arrives until it is stopped.",
        options: [
            .value("--directory", "DIR", "where the phone keeps its state (files of mode 0600)"),
            .value("--installation", "ID", "the installation's name, the same at every start"),
            .value("--simulator", "URL", "the simulator's control address, http://127.0.0.1:PORT"),
            .value("--server", "URL", "the server, https (http only for 127.0.0.1 with a port)"),
            .value("--pair", "CODE", "sign in with a pairing code"),
            .value("--pair-file", "FILE", "where the pairing code is, - for standard input"),
            .value("--login", "USER", "sign in with a password instead"),
            .value("--password-file", "FILE", "where the password is (default: standard input)"),
            .value("--environment", "NAME", "sandbox or production (default sandbox)"),
            .value("--language", "NAME", "en or zh-Hans (default en)"),
            .value(
                "--enable",
                "LIST",
                "switch on exactly these: alerts,security,task_failure,task_success"
            ),
            .value("--profile", "FILE", "the publisher's app profile (default: the reference one)"),
            .flag("--rotate-key", "register a new content key"),
            .flag("--json", "print one JSON object a line"),
        ],
        notes: """
            A login that is in DIR is continued. Everything arrives from the simulator: this shows
            nothing about Apple's service.

            \(ExitCode.help)
            """
    ) { arguments in
        let settings = try PhoneSettings(arguments)
        let parts = try PhoneParts(
            directory: settings.directory,
            installation: settings.installation
        )
        defer { parts.client.stop() }
        let ending = StopSignal()
        // Started by a supervisor, the phone goes when that does.
        let lifeline = ProcessInfo.processInfo.environment[Lifeline.variable]
        try Lifeline.watch(lifeline, raising: ending)
        let phone = Phone(
            settings: settings,
            store: parts.store,
            device: parts.device,
            simulator: SimulatorClient(
                address: settings.simulator,
                client: parts.client,
                environment: settings.environment
            ),
            report: PhoneReport(asJSON: settings.asJSON),
            time: SystemTime(),
            random: .system,
            ending: ending
        )
        let code = await ServiceGroup(
            [phone],
            gracePeriod: .seconds(5),
            log: Log(level: .warning),
            stop: ending
        ).run()
        return code == 0 ? phone.exitCode.withLock { $0 } : code
    }
}
