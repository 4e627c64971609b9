import Commands
import Loop
import ServiceKit
import Topology

/// A stack as the one service of `pushbus up`: started, shown, stopped when asked.
struct StackService: Service {
    let name = "stack"
    let plan: StackPlan
    let log: Log
    let terminal: Terminal

    func run(until stop: StopSignal) async throws {
        guard let stack = try await start(unless: stop) else { return }
        terminal.out(Self.text(stack))
        await stop.wait()
        terminal.line("stopping")
        await stack.stop()
    }

    /// Nil when the end was asked for before everything was ready.
    private func start(unless stop: StopSignal) async throws -> Stack? {
        try await withThrowingTaskGroup(of: Stack?.self) { group in
            group.addTask { try await Stack.start(plan, log: log) }
            group.addTask {
                await stop.wait()
                return nil
            }
            let first = try await group.next() ?? nil
            group.cancelAll()
            if first == nil, let late = try? await group.next() { await late?.stop() }
            return first
        }
    }

    /// Where everything is and what to do next.
    static func text(_ stack: Stack) -> String {
        let directory = stack.plan.directory
        var text = """
            PushBus runs in \(directory)
              phones        \(stack.serverURL)
              bus           ipc://\(directory)/<service>.sock
              stores        \(directory)/<service>.sqlite

            """
        if stack.plan.output == .files { text += "  logs          \(directory)/<service>.log\n" }
        if let events = stack.services.ports(of: .eventIngest)["http"] {
            text += """
                  events        http://127.0.0.1:\(events)/v1/events, with a bearer key of
                                'pushbus integrator add monitor --sources "*"' and
                                'pushbus integrator key monitor'

                """
        }
        if let relay = stack.services.ports(of: .relay)["http"] {
            text += "  relay         http://127.0.0.1:\(relay)/v1/send\n"
        }
        if let simulator = stack.simulatorURL {
            text +=
                "  simulator     \(simulator) (a simulated APNs: nothing reaches a real phone)\n"
        }
        if stack.plan.lacksCredentials {
            text += "  note          The Relay has no APNs credentials and sends nothing; "
            text += "'pushbus status' says what it lacks\n"
        }
        text += """

            Next, in another terminal:
              pushbus user add alice --role admin --directory \(directory)
              pushbus pair alice --directory \(directory)
              pushbus status --directory \(directory)
            Ctrl-C stops it.

            """
        return text
    }
}
