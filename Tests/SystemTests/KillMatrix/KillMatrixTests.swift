import Contracts
import FoundationEssentials
import Testing
import Topology

/// Every service is killed before and after each of its commits, sends and acknowledgements, one
/// after the other in one world; in the end nothing may be lost, open or sent under two ids.
@Suite("Kill matrix", .serialized)
struct KillMatrixTests {
    @Test("a kill at every step loses nothing")
    func everyStep() async throws {
        try await World.run(CrashFiles.configure, limit: .seconds(240)) { world in
            let run = try await KillRun(world)
            for step in Self.inTurns() {
                do { try await run.kill(at: step) } catch { Issue.record(error) }
            }
            try await run.check()
            try run.checkCompleteness()
        }
    }

    /// The steps of the five services in turns, so that work drains between two ends of one service.
    private static func inTurns() -> [KillRun.Step] {
        var lists = [
            KillRun.steps(RegistrationStep.self), KillRun.steps(EventIngestStep.self),
            KillRun.steps(FanoutStep.self), KillRun.steps(DeliveryStep.self),
            KillRun.steps(RelayStep.self),
        ]
        var steps: [KillRun.Step] = []
        while lists.contains(where: { !$0.isEmpty }) {
            for index in lists.indices where !lists[index].isEmpty {
                steps.append(lists[index].removeFirst())
            }
        }
        return steps
    }
}

/// Where the name of the next crash point is written, and where those that came are listed.
enum CrashFiles {
    static func configure(_ topology: inout Topology) {
        for service in PushBusService.allCases {
            topology[service].environment["PUSHBUS_CRASH_FILE"] = path(
                service,
                in: topology.directory
            )
        }
    }

    static func path(_ service: PushBusService, in directory: String) -> String {
        "\(directory)/\(service.rawValue).crash"
    }

    /// Makes this the last moment of the service.
    static func arm(_ moment: String, _ service: PushBusService, in directory: String) throws {
        try moment.write(
            toFile: path(service, in: directory),
            atomically: true,
            encoding: .utf8
        )
    }

    /// Lets the service live.
    static func disarm(_ service: PushBusService, in directory: String) {
        try? FileManager.default.removeItem(atPath: path(service, in: directory))
    }

    /// The moments that have come in any process of the service.
    static func reached(_ service: PushBusService, in directory: String) throws -> Set<String> {
        let path = path(service, in: directory) + ".reached"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        return Set(text.split(separator: "\n").map(String.init))
    }
}
