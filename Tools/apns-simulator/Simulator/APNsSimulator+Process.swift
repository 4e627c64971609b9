import ServiceKit

extension APNsSimulator {
    /// Reads the settings of the process (`PUSHBUS_SIMULATOR_…`) and starts to listen.
    package static func assemble(
        _ reader: inout EnvironmentReader,
        _ context: ProcessContext
    ) async throws -> ProcessMain.Assembly {
        let configuration = Configuration(&reader)
        try reader.finish()
        let simulator = try APNsSimulator(
            configuration,
            time: context.time,
            random: context.random,
            ports: context.ports
        )
        try await simulator.start()
        context.log.info(
            "listening",
            ["ca_file": .string(simulator.authorityPath), "key_id": .string(simulator.keyID)]
        )
        return ProcessMain.Assembly([simulator])
    }
}

extension APNsSimulator.Configuration {
    /// Reads all settings; the reader reports what is wrong.
    fileprivate init(_ reader: inout EnvironmentReader) {
        self.init(
            directory: reader.path(
                "DIRECTORY",
                help: "folder for the CA, the certificate and the signing key; made if missing"
            )
        )
        host = reader.string(
            "HOST",
            default: "127.0.0.1",
            help: "address literal that both APNs ports listen at"
        )
        let ports = 0...65_535
        sandboxPort = UInt16(
            reader.int("SANDBOX_PORT", default: 0, in: ports, help: "0 takes any free port")
        )
        productionPort = UInt16(
            reader.int("PRODUCTION_PORT", default: 0, in: ports, help: "0 takes any free port")
        )
        controlPort = UInt16(
            reader.int("HTTP_PORT", default: 0, in: ports, help: "control API on 127.0.0.1")
        )
        bundleIDs = Self.list(
            reader.string(
                "BUNDLE_IDS",
                default: "app.example",
                help: "bundle ids of the team, separated by commas"
            )
        )
        certificateHosts += Self.list(
            reader.string(
                "CERTIFICATE_HOSTS",
                default: "",
                help: "names for the certificate besides localhost, separated by commas"
            )
        )
        readLimits(&reader)
        readBehaviour(&reader)
    }

    private mutating func readLimits(_ reader: inout EnvironmentReader) {
        keptNotifications = reader.int(
            "KEEP",
            default: 10_000,
            in: 0...1_000_000,
            help: "notifications kept for looking and for phones that are away"
        )
        maximumDevices = reader.int(
            "DEVICES",
            default: maximumDevices,
            in: 1...10_000_000,
            help: "tokens known at a time; beyond it those that were quiet longest are forgotten"
        )
        maximumStreams = UInt32(
            reader.int(
                "MAX_STREAMS",
                default: 1_000,
                in: 1...100_000,
                help: "SETTINGS_MAX_CONCURRENT_STREAMS of a connection"
            )
        )
        firstStreamLimit = UInt32(
            reader.int(
                "FIRST_STREAMS",
                default: 1,
                in: 0...100_000,
                help: "the limit until the first accepted request; 0 leaves the ramp out"
            )
        )
        streamWindowBytes = UInt32(
            reader.int(
                "STREAM_WINDOW",
                default: 65_535,
                in: 1...2_147_483_647,
                help: "HTTP/2 window of a stream in bytes"
            )
        )
        connectionWindowBytes = Int32(
            reader.int(
                "CONNECTION_WINDOW",
                default: 65_535,
                in: 65_535...2_147_483_647,
                help: "HTTP/2 window of a connection in bytes"
            )
        )
        parsesPayloads = reader.bool(
            "PARSE_PAYLOADS",
            default: true,
            help: "parse the JSON of every payload instead of looking at its ends"
        )
    }

    /// Settings in JSON, checked at once so that the reader can report them with all others.
    private mutating func readBehaviour(_ reader: inout EnvironmentReader) {
        settings = reader.string(
            "SETTINGS",
            default: "",
            help: "JSON as PATCH /settings takes it: certificate, minimum_tls, delay_ms, ..."
        )
        script = reader.string(
            "SCRIPT",
            default: "",
            help: "JSON as PUT /script takes it"
        )
        do { _ = try allSettings() } catch { reader.reject("SETTINGS", "\(error)") }
        do { _ = try commonScript() } catch { reader.reject("SCRIPT", "\(error)") }
    }

    private static func list(_ text: String) -> [String] {
        text.split(separator: ",").map(String.init)
    }
}
