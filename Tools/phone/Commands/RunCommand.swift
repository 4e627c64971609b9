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
            .value(
                "--installation",
                "ID",
                "the installation's name at the first start (default:\nmade up)"
            ),
            .value("--simulator", "URL", "the simulator's control address, http://127.0.0.1:PORT"),
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
        ] + SignInChoice.options,
        notes: """
            A login that is in DIR is continued. Everything arrives from the simulator: this shows
            nothing about Apple's service.

            \(ExitCode.help)
            """
    ) { arguments in
        let settings = try PhoneSettings(arguments)
        let parts = try PhoneParts(
            directory: settings.directory,
            installation: settings.installation,
            simulator: (settings.simulator, settings.environment)
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
            system: parts.system,
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
