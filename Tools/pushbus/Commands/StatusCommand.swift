import Commands
import Contracts
import ServiceKit
import Topology

/// `pushbus status`
enum StatusCommand {
    static let command = Command(
        "status",
        "Shows what runs and how full the outbox is.",
        options: [
            .flag("--json", "print one JSON object a line"),
            .flag("--metrics", "print every counter of every service too"),
        ] + BusConnection.options.filter { $0.name != "--endpoint" },
        notes: "Exit code 0 when every service is ready, else 1.\n\n\(ExitCode.help)"
    ) { arguments in
        let connection = try BusConnection(arguments)
        var states: [State] = []
        for service in PushBusService.allCases {
            let sockets = try connection.sockets(of: service)
            let places = sockets.isEmpty ? [connection] : sockets.map(connection.only)
            for place in places {
                let status: Answer<ServiceStatusAnswer> = await ask(
                    ServiceStatus(),
                    service,
                    place
                )
                states.append(State(service: service, status: status))
            }
        }
        let outbox: Answer<OutboxStatusAnswer> = await ask(OutboxStatus(), .delivery, connection)
        if arguments.has("--json") {
            for case .answered(let status) in states.map(\.status) {
                Terminal.standard.line(try JSONText.line(status))
            }
            if case .answered(let outbox) = outbox {
                Terminal.standard.line(try JSONText.line(outbox))
            }
        } else {
            Terminal.standard.out(table(states))
            if case .answered(let outbox) = outbox {
                Terminal.standard.out("\n" + OutboxCommand.text(of: outbox, now: SystemTime().wall))
            }
            if arguments.has("--metrics") { Terminal.standard.out(metrics(states)) }
        }
        return states.allSatisfy(\.isReady) ? ExitCode.success : ExitCode.failure
    }

    enum Answer<Value: Sendable>: Sendable {
        case answered(Value)
        case silent(String)
    }

    struct State {
        var service: PushBusService
        var status: Answer<ServiceStatusAnswer>

        var isReady: Bool {
            if case .answered(let answer) = status { answer.ready } else { false }
        }
    }

    private static func ask<Request: BusRequest>(
        _ request: Request,
        _ service: PushBusService,
        _ connection: BusConnection
    ) async -> Answer<Request.Answer> {
        do {
            return .answered(try await connection.ask(request, of: service))
        } catch {
            return .silent(String(describing: error))
        }
    }

    /// A row for each service: what is missing, or why it did not answer.
    static func table(_ states: [State]) -> String {
        var table = Table(["service", "state", "pid", "version", "remarks"], rightAligned: [2])
        for state in states {
            switch state.status {
            case .answered(let answer):
                let missing = answer.conditions.filter { !$0.value.isEmpty }
                    .sorted { $0.key < $1.key }
                    .map { "\($0.key): \($0.value)" }
                table.add([
                    state.service.title, answer.ready ? "ready" : "not ready",
                    "\(answer.processID)", answer.version, missing.joined(separator: "; "),
                ])
            case .silent(let why): table.add([state.service.title, "silent", "-", "-", why])
            }
        }
        return table.text
    }

    private static func metrics(_ states: [State]) -> String {
        var table = Table(["service", "value", "metric"], rightAligned: [1])
        for state in states {
            guard case .answered(let answer) = state.status else { continue }
            for (name, value) in answer.metrics.sorted(by: { $0.key < $1.key }) {
                let whole = Int64(exactly: value).map(String.init)
                table.add([state.service.title, whole ?? "\(value)", name])
            }
        }
        return table.count == 0 ? "" : "\n" + table.text
    }
}
