import Commands
import FoundationEssentials
import ServiceKit
import Topology

/// A running PushBus on this machine: the simulator first, because the Relay needs what it makes,
/// then the services.
final class Stack: Sendable {
    let plan: StackPlan
    let services: RunningTopology
    let simulator: Supervisor?

    /// How long everything may take to be ready.
    static let startLimit = Duration.seconds(30)

    private init(_ plan: StackPlan, _ services: RunningTopology, _ simulator: Supervisor?) {
        self.plan = plan
        self.services = services
        self.simulator = simulator
    }

    /// Starts everything and waits until it is ready; on an error nothing is left running.
    static func start(_ plan: StackPlan, log: Log) async throws -> Stack {
        var simulator: Supervisor?
        do {
            var credentials: SimulatorCredentials?
            if let ports = plan.simulator {
                let supervisor = try Supervisor(log: log)
                simulator = supervisor
                try supervisor.add([plan.simulatorProcess(ports)])
                try supervisor.startAll()
                try await supervisor.waitUntilAllReady(within: startLimit)
                credentials = try Self.credentials(plan)
            }
            let services = try RunningTopology(plan.topology(credentials), log: log)
            try await services.start(within: startLimit)
            return Stack(plan, services, simulator)
        } catch {
            await simulator?.stopAll()
            throw error
        }
    }

    static func credentials(_ plan: StackPlan) throws -> SimulatorCredentials {
        let file = "\(plan.simulatorDirectory)/credentials.json"
        let bytes = try InputFile.read(file, limit: 64 << 10)
        guard
            let credentials = try? JSONDecoder().decode(
                SimulatorCredentials.self,
                from: Data(bytes)
            )
        else { throw CommandFailure("\(file) is not what the simulator writes") }
        return credentials
    }

    /// Where phones reach Registration.
    var serverURL: String { plan.publicURL ?? "http://\(plan.http)" }

    /// The simulator's control address.
    var simulatorURL: String? { plan.simulator.map { "http://127.0.0.1:\($0.control)" } }

    /// Stops the services in reverse order, then the simulator.
    func stop() async {
        await services.stop()
        await simulator?.stopAll()
    }
}
