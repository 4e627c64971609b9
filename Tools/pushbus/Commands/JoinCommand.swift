import Commands
import FoundationEssentials
import Glibc
import Loop
import ServiceKit
import Topology

/// `pushbus join`
enum JoinCommand {
    static let command = Command(
        "join",
        "Runs one more process of a service beside 'pushbus up', until ctrl-C.",
        positionals: [.init("SERVICE", "fanout, delivery or relay")],
        options: UpCommand.command.options.filter { !Self.apart.contains($0.name) },
        notes: """
            Give it the directory, the environment and the --simulator options of 'pushbus up'. The
            others find it within a second and need no restart; on ctrl-C it takes its leave, hands
            back what it holds and ends. Delivery needs a PostgreSQL store, which all its processes
            share.

            \(ExitCode.help)
            """
    ) { arguments in
        let word = try arguments.requiredWord("SERVICE")
        guard let service = PushBusService(rawValue: word), service.mayBeSeveral else {
            throw UsageError("SERVICE must be fanout, delivery or relay")
        }
        let plan = try UpCommand.plan(
            arguments,
            environment: ProcessInfo.processInfo.environment
        )
        let credentials = plan.simulator == nil ? nil : try Stack.credentials(plan)
        let topology = try plan.topology(credentials)
        var process: ProcessPlan
        do throws(TopologyError) {
            process = try topology.joining(service, instance: number(of: service, in: topology))
        } catch {
            throw CommandFailure(error.description, exitCode: ExitCode.configuration)
        }
        process.restart = .never
        let log = Log(level: .warning)
        return await ServiceGroup(
            [JoinedProcess(process: process, terminal: .standard)],
            gracePeriod: .seconds(60),
            log: log
        ).run()
    }

    /// Options of 'pushbus up' that mean nothing here.
    private static let apart: Set<String> = [
        "--http", "--events", "--public-url", "--without", "--delivery", "--fanout", "--relay",
    ]

    /// The lowest number from 2 that no process uses.
    private static func number(of service: PushBusService, in topology: Topology) -> Int {
        var topology = topology
        topology[service].instances = 64
        let sockets = topology.sockets(of: service)
        return (2...64).first { access(sockets[$0 - 1], F_OK) != 0 } ?? 64
    }
}

/// One process of a service, looked after until it is to end.
private struct JoinedProcess: Service {
    let name = "process"
    let process: ProcessPlan
    let terminal: Terminal

    func run(until stop: StopSignal) async throws {
        let supervisor = try Supervisor(log: Log(level: .warning))
        try supervisor.add([process])
        try supervisor.start(process.name)
        let status = await withTaskGroup(of: ExitStatus?.self) { group in
            group.addTask { await supervisor.waitForExit(process.name) }
            group.addTask {
                if await supervisor.waitUntilReady(process.name) {
                    terminal.line("\(process.name) has joined; ctrl-C makes it leave")
                }
                await stop.wait()
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        await supervisor.stopAll()
        if let status {
            throw CommandFailure("\(process.name) ended (\(status)); its log says why")
        }
    }
}
