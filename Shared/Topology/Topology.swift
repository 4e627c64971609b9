/// Which processes run on which endpoints: a value that `pushbus up` and the system tests share.
///
/// All endpoints and stores lie in one directory of mode 0700. Each service is real, stubbed,
/// absent or behind a fault proxy; the others reach it under the same endpoint in every case.
package struct Topology: Sendable {
    /// How a service is there.
    package enum Presence: Hashable, Sendable {
        /// Its processes run and bind their endpoints.
        case real
        /// Its processes run behind a `FaultProxy`, through which every peer has to go.
        case behindFaultProxy
        /// The caller binds the endpoint itself and speaks the contract.
        case stubbed
        /// Nothing is at the endpoint.
        case absent
    }

    /// One service of the topology.
    package struct Member: Sendable {
        package var presence = Presence.real
        /// How many processes; more than one for services without a store, and for Delivery where the
        /// stores are in a database.
        package var instances = 1
        /// Settings beyond those the topology makes, under their full names; they win.
        package var environment: [String: String] = [:]
        /// Settings of single processes, by their number from 1; they win over all others.
        package var instanceEnvironment: [Int: [String: String]] = [:]
        /// Another executable than the service's own, by absolute path.
        package var executable: String?

        package init() {}
    }

    /// Where endpoints, stores, ready files and logs are; absolute.
    package let directory: String
    /// Where the executables are; absolute.
    package let executables: String
    /// Variables that every process gets, whoever it is.
    package var commonEnvironment: [String: String] = [:]
    /// Whether services that may be several are found through files of endpoints, which peers read
    /// again while they run, so that a process joins and leaves without a restart of others.
    package var sharesEndpoints = false
    /// Whether each process opens an admin port, any free one on loopback.
    package var adminPorts = true
    /// The URL of the PostgreSQL database that holds all stores, each service's in a schema of its own;
    /// nil for a file of each in the directory.
    package var database: String?
    /// What becomes of the processes' output.
    package var output = ProcessOutput.files
    /// What happens when a process ends unasked.
    package var restart = RestartPolicy.never
    private var members: [PushBusService: Member]

    /// All five services real, one process each.
    ///
    /// Throws when the directory's path leaves no room for an `ipc://` endpoint, whose path may
    /// have 107 bytes.
    package init(directory: String, executables: String) throws(TopologyError) {
        guard directory.hasPrefix("/"), executables.hasPrefix("/") else {
            throw TopologyError("the directories of a topology have to be absolute paths")
        }
        let longest = "\(directory)/registration-behind.sock"
        guard longest.utf8.count <= 107 else {
            throw TopologyError(
                "\(directory) is too long: a socket path has at most 107 bytes; use a shorter one"
            )
        }
        self.directory = directory
        self.executables = executables
        members = Dictionary(
            uniqueKeysWithValues: PushBusService.allCases.map { ($0, Member()) }
        )
    }

    /// The member of that service; changing it changes the topology.
    package subscript(service: PushBusService) -> Member {
        get { members[service] ?? Member() }
        set { members[service] = newValue }
    }

    /// The sockets that peers of a service connect to, by absolute path, one per process.
    package func sockets(of service: PushBusService) -> [String] {
        (1...max(1, self[service].instances)).map { socket(service, $0, behind: false) }
    }

    /// The endpoints that peers of a service connect to.
    package func endpoints(of service: PushBusService) -> [String] {
        sockets(of: service).map { "ipc://\($0)" }
    }

    /// The sockets its processes bind: the same, or others when a fault proxy is in between.
    package func boundSockets(of service: PushBusService) -> [String] {
        let behind = self[service].presence == .behindFaultProxy
        return (1...max(1, self[service].instances)).map { socket(service, $0, behind: behind) }
    }

    /// The name of a process of a service: `fanout`, `fanout-2`.
    package func processName(of service: PushBusService, instance: Int = 1) -> String {
        instance == 1 ? service.rawValue : "\(service.rawValue)-\(instance)"
    }

    /// What to start, in starting order; services that are stubbed or absent have no process.
    package func processes() throws(TopologyError) -> [ProcessPlan] {
        var plans: [ProcessPlan] = []
        for service in Self.startingOrder {
            let member = self[service]
            guard member.presence == .real || member.presence == .behindFaultProxy else { continue }
            if member.instances != 1 { try check(service, member) }
            for instance in 1...member.instances { plans.append(plan(service, member, instance)) }
        }
        return plans
    }

    /// One more process of a service beside those that run, by its number from 2.
    package func joining(
        _ service: PushBusService,
        instance: Int
    ) throws(TopologyError) -> ProcessPlan {
        var member = self[service]
        member.instances = instance
        try check(service, member)
        var copy = self
        copy[service] = member
        return copy.plan(service, member, instance)
    }

    private func check(_ service: PushBusService, _ member: Member) throws(TopologyError) {
        guard service.mayBeSeveral, member.instances > 0 else {
            throw TopologyError("\(service.rawValue) runs as one process")
        }
        let variable = service.variablePrefix + "STORE"
        let isShared =
            database != nil || member.environment[variable]?.hasPrefix("postgresql:") ?? false
            || member.environment[variable + "_FILE"] != nil
        guard !service.hasStore || isShared || member.instances == 1 else {
            throw TopologyError(
                "\(service.rawValue) is one process on SQLite; for more, name a PostgreSQL store in "
                    + "\(variable)=postgresql://…"
            )
        }
    }

    /// The file of endpoints of a service.
    package func endpointFile(of service: PushBusService) -> String {
        "\(directory)/\(service.rawValue).endpoints"
    }

    /// Those who are asked come first; they wait for each other in any order, though.
    private static let startingOrder: [PushBusService] = [
        .relay, .registration, .delivery, .fanout, .eventIngest,
    ]

    private func socket(_ service: PushBusService, _ instance: Int, behind: Bool) -> String {
        let name = processName(of: service, instance: instance)
        return "\(directory)/\(name)\(behind ? "-behind" : "").sock"
    }

    private func store(of service: PushBusService, _ name: String) -> [String: String] {
        let prefix = service.variablePrefix
        // A URL in a file takes the place of the one here.
        guard self[service].environment[prefix + "STORE_FILE"] == nil else { return [:] }
        guard let database else {
            return [prefix + "STORE": "sqlite:\(directory)/\(name).sqlite"]
        }
        var variables = [prefix + "STORE": database]
        if service == .registration {
            // It must not be where what it seals is.
            variables[prefix + "MASTER_KEY_FILE"] = "\(directory)/\(name).key"
        }
        return variables
    }

    private func plan(_ service: PushBusService, _ member: Member, _ instance: Int) -> ProcessPlan {
        let name = processName(of: service, instance: instance)
        let prefix = service.variablePrefix
        var environment = commonEnvironment
        environment[prefix + "BIND"] = "ipc://\(boundSockets(of: service)[instance - 1])"
        for peer in service.peers {
            environment[prefix + peer.rawValue.uppercased()] =
                sharesEndpoints && peer.mayBeSeveral
                ? "@" + endpointFile(of: peer) : endpoints(of: peer).joined(separator: ",")
        }
        if sharesEndpoints, service.mayBeSeveral {
            environment[prefix + "ANNOUNCE"] = endpointFile(of: service)
        }
        if service.hasStore { environment.merge(store(of: service, name)) { $1 } }
        if service.hasHTTP { environment[prefix + "HTTP"] = "127.0.0.1:0" }
        if adminPorts { environment[prefix + "ADMIN"] = "127.0.0.1:0" }
        let readyFile = "\(directory)/\(name).ready"
        environment[prefix + "READY_FILE"] = readyFile
        environment.merge(member.environment) { _, given in given }
        environment.merge(member.instanceEnvironment[instance] ?? [:]) { _, given in given }
        return ProcessPlan(
            name: name,
            executable: member.executable ?? "\(executables)/\(service.executable)",
            environment: environment,
            readyFile: readyFile,
            output: output.destination(for: name, in: directory),
            restart: restart
        )
    }
}

/// A topology that cannot be; the text says what to change.
package struct TopologyError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
