/// The APNs simulator of this package, without its first-stream ramp.
final class SimulatorProcess {
    let port: UInt16
    let providerToken: String
    private let program: ExternalProgram

    init(_ folder: BenchFolder, _ variables: [String: String]) throws {
        port = try LoopbackPort.free()
        let directory = folder.file("apns")
        program = try ExternalProgram(
            try ExternalProgram.sibling("apns-simulator"),
            [],
            environment: [
                "PUSHBUS_SIMULATOR_DIRECTORY": directory,
                "PUSHBUS_SIMULATOR_SANDBOX_PORT": "\(port)",
                "PUSHBUS_SIMULATOR_FIRST_STREAMS": "0",
            ].merging(variables) { $1 },
            output: folder.file("simulator.log"),
            limitSeconds: 600
        )
        try LoopbackPort.waitUntilOpen(port)
        providerToken = try SimulatorCredentials(folder: directory).providerToken()
    }

    func stop() { program.stop() }
}
