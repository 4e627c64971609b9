import ServiceKit
import Topology

/// What `pushbus up` and the demo start: the five services and, if wanted, the simulator.
struct StackPlan: Sendable {
    /// Ports of a simulator, all on 127.0.0.1.
    struct SimulatorPorts: Hashable, Sendable {
        var control: UInt16
        var sandbox: UInt16
        var production: UInt16
    }

    var directory: String
    var executables: String
    /// Where Registration listens for phones, `host:port`.
    var http: String
    /// Where EventIngest listens for integrators, `host:port`; nil leaves that door closed.
    var events: String?
    /// Where phones reach it, when that is elsewhere.
    var publicURL: String?
    /// Nil leaves the simulator out: the Relay then needs real credentials.
    var simulator: SimulatorPorts?
    /// The PostgreSQL database that holds all stores; nil for files in the directory.
    var database: String?
    /// How many processes of a service, where it is not one.
    var instances: [PushBusService: Int] = [:]
    /// Services that run elsewhere, or not at all.
    var without: Set<PushBusService> = []
    var output = ProcessOutput.files
    var restart = RestartPolicy.never
    /// Variables of the caller; those of a service go to that service and win.
    var environment: [String: String] = [:]

    /// Whether the Relay is started without any key for APNs.
    var lacksCredentials: Bool {
        simulator == nil && !without.contains(.relay)
            && environment["PUSHBUS_RELAY_APNS_KEY_FILE"] == nil
    }

    /// The folder of the simulator's keys.
    var simulatorDirectory: String { "\(directory)/simulator" }

    /// The simulator's process.
    func simulatorProcess(_ ports: SimulatorPorts) -> ProcessPlan {
        let prefix = "PUSHBUS_SIMULATOR_"
        var variables = [
            prefix + "DIRECTORY": simulatorDirectory,
            prefix + "HTTP_PORT": "\(ports.control)",
            prefix + "SANDBOX_PORT": "\(ports.sandbox)",
            prefix + "PRODUCTION_PORT": "\(ports.production)",
            prefix + "READY_FILE": "\(directory)/simulator.ready",
        ]
        variables.merge(environment.filter { $0.key.hasPrefix(prefix) }) { _, given in given }
        let output: ProcessPlan.Output =
            switch self.output {
            case .inherited: .inherited
            case .prefixed: .prefixed
            case .files: .file("\(directory)/simulator.log")
            }
        return ProcessPlan(
            name: "simulator",
            executable: "\(executables)/apns-simulator",
            environment: variables,
            readyFile: "\(directory)/simulator.ready",
            output: output,
            restart: restart
        )
    }

    /// The services, with the Relay turned to the simulator when there is one.
    func topology(_ credentials: SimulatorCredentials?) throws -> Topology {
        var topology = try Topology(directory: directory, executables: executables)
        topology.output = output
        topology.restart = restart
        topology.database = database
        topology.sharesEndpoints = true
        for service in PushBusService.allCases {
            var member = Topology.Member()
            if without.contains(service) { member.presence = .absent }
            member.instances = instances[service] ?? 1
            member.environment = variables(of: service, credentials)
            topology[service] = member
        }
        return topology
    }

    private func variables(
        of service: PushBusService,
        _ credentials: SimulatorCredentials?
    ) -> [String: String] {
        var variables: [String: String] = [:]
        if service == .registration {
            variables["PUSHBUS_REGISTRATION_HTTP"] = http
            if let publicURL { variables["PUSHBUS_REGISTRATION_PUBLIC_URL"] = publicURL }
        }
        if service == .eventIngest, let events {
            variables["PUSHBUS_EVENTINGEST_HTTP"] = events
        }
        if service == .relay, let credentials, let simulator {
            let prefix = "PUSHBUS_RELAY_APNS_"
            variables[prefix + "SANDBOX_ORIGIN"] = "localhost:\(simulator.sandbox)"
            variables[prefix + "PRODUCTION_ORIGIN"] = "localhost:\(simulator.production)"
            variables[prefix + "CA_FILE"] = credentials.caFile
            variables[prefix + "TEAM_ID"] = credentials.teamID
            variables[prefix + "KEY_ID"] = credentials.keyID
            variables[prefix + "KEY_FILE"] = credentials.keyFile
            variables[prefix + "TOPIC"] = credentials.bundleIDs.first ?? ""
        }
        let own = environment.filter {
            $0.key.hasPrefix(service.variablePrefix) || $0.key == "PUSHBUS_APP_PROFILE"
        }
        return variables.merging(own) { _, given in given }
    }
}

/// What the simulator hands to a sender, as Apple's developer account would.
struct SimulatorCredentials: Decodable, Sendable {
    var keyID: String
    var teamID: String
    var keyFile: String
    var caFile: String
    var bundleIDs: [String]

    enum CodingKeys: String, CodingKey {
        case keyID = "key_id"
        case teamID = "team_id"
        case keyFile = "key_file"
        case caFile = "ca_file"
        case bundleIDs = "bundle_ids"
    }
}
