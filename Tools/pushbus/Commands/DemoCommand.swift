import Commands
import Loop
import ServiceKit
import Topology

/// `pushbus demo`
enum DemoCommand {
    static let command = Command(
        "demo",
        "Plays the main job with simulated phones in a temporary directory.",
        options: [
            .value("--executables", "DIR", "where the programs are (default: beside this one)")
        ],
        notes: """
            Starts everything, lets an alert trigger and recover, stops the Relay, kills Delivery,
            signs a phone out, and counts on the phones what arrived. Exit code 0 only when every
            notification was shown exactly once. Leaves nothing running. Simulator evidence only.
            """
    ) { arguments in
        var executables = arguments.value("--executables")
        if executables == nil { executables = try Topology.folderOfThisProgram() }
        let ending = StopSignal()
        let demo = DemoService(
            executables: executables ?? "/",
            terminal: .standard,
            ending: ending
        )
        let code = await ServiceGroup(
            [demo],
            gracePeriod: .seconds(60),
            log: Log(level: .error),
            stop: ending
        ).run()
        return code == 0 ? demo.exitCode.withLock { $0 } : code
    }
}
