/// The APNs simulator of this package as the production host, without its first-stream ramp.
final class SimulatorProcess {
    let target: BenchTarget
    /// Where it keeps its CA and the signing key.
    let directory: String
    private let program: ExternalProgram

    init(_ folder: BenchFolder, _ windows: BenchWindows, keep: Int = 10_000, settings: String = "")
        throws
    {
        let port = try LoopbackPort.free()
        directory = folder.file("apns-\(port)")
        program = try ExternalProgram(
            try ExternalProgram.sibling("apns-simulator"),
            [],
            environment: [
                "PUSHBUS_SIMULATOR_DIRECTORY": directory,
                "PUSHBUS_SIMULATOR_PRODUCTION_PORT": "\(port)",
                "PUSHBUS_SIMULATOR_FIRST_STREAMS": "0",
                "PUSHBUS_SIMULATOR_KEEP": "\(keep)",
                "PUSHBUS_SIMULATOR_SETTINGS": settings,
            ].merging(windows.simulatorVariables) { $1 },
            output: folder.file("simulator.log"),
            limitSeconds: 600
        )
        try LoopbackPort.waitUntilOpen(port)
        target = BenchTarget(
            port: port,
            authorityFile: "\(directory)/ca.pem",
            token: try SimulatorCredentials(folder: directory).providerToken()
        )
    }

    func stop() { program.stop() }
}
