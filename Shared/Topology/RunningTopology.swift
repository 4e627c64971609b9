import Glibc
import Loop
import ServiceKit

/// A topology that runs: its processes, and the proxies of services behind one.
package final class RunningTopology: Sendable {
    package let topology: Topology
    package let supervisor: Supervisor
    private let proxies: [PushBusService: [FaultProxy]]

    /// Makes the directory, binds the proxies and takes the processes in, after other processes
    /// that are to start first and stop last (a simulator, say). Starts nothing yet.
    package init(_ topology: Topology, first others: [ProcessPlan] = [], log: Log) throws {
        try Self.makeDirectory(topology.directory)
        self.topology = topology
        if topology.sharesEndpoints {
            for service in PushBusService.allCases where service.mayBeSeveral {
                try Self.writeEndpoints(of: service, topology)
            }
        }
        supervisor = try Supervisor(log: log)
        try supervisor.add(others)
        try supervisor.add(try topology.processes())
        var proxies: [PushBusService: [FaultProxy]] = [:]
        for service in PushBusService.allCases
        where topology[service].presence == .behindFaultProxy {
            let pairs = zip(topology.sockets(of: service), topology.boundSockets(of: service))
            proxies[service] = try pairs.map { front, behind in
                try FaultProxy(listen: .path(front), target: .path(behind))
            }
        }
        self.proxies = proxies
    }

    /// Starts everything and waits until all of it is ready; stops it all when it is not.
    package func start(within limit: Duration = .seconds(30)) async throws {
        do {
            try supervisor.startAll()
            try await supervisor.waitUntilAllReady(within: limit)
        } catch {
            await stop()
            throw error
        }
    }

    /// The proxies in front of a service, one per process.
    package func proxies(of service: PushBusService) -> [FaultProxy] {
        proxies[service] ?? []
    }

    /// The ports of the first process of a service.
    package func ports(of service: PushBusService) -> [String: UInt16] {
        supervisor.ports(of: topology.processName(of: service))
    }

    /// Stops the processes in reverse order, then the proxies.
    package func stop(grace: Duration = .seconds(15)) async {
        await supervisor.stopAll(grace: grace)
        for proxy in proxies.values.joined() { await proxy.stop() }
    }

    /// Whatever an earlier run left in the file of endpoints is gone; a stub's endpoint is put in, as
    /// it does not announce itself.
    private static func writeEndpoints(of service: PushBusService, _ topology: Topology) throws {
        let isStubbed = topology[service].presence == .stubbed
        let lines = isStubbed ? topology.endpoints(of: service) : []
        var text = lines.map { $0 + "\n" }.joined()
        let path = topology.endpointFile(of: service)
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw SystemCallError.last("open of \(path)") }
        text.withUTF8 { _ = write(file, $0.baseAddress, $0.count) }
        close(file)
    }

    /// Makes the directory with mode 0700, or checks that an existing one is this user's alone.
    static func makeDirectory(_ path: String) throws {
        if mkdir(path, 0o700) == 0 { return }
        guard errno == EEXIST else { throw SystemCallError.last("mkdir of \(path)") }
        var status = stat()
        guard stat(path, &status) == 0 else { throw SystemCallError.last("stat of \(path)") }
        guard status.st_uid == getuid(), status.st_mode & 0o077 == 0 else {
            throw TopologyError("\(path) has to belong to this user alone: chmod 700 \(path)")
        }
    }
}
