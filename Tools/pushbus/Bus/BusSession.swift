import Bus
import Commands
import Contracts
import Glibc
import Loop
import ServiceKit
import Topology

/// One stay on the bus: a client for each service that is asked, until `stop`.
final class BusSession: Sendable {
    let connection: BusConnection
    private let runtime: BusRuntime
    private let clients = Locked<[PushBusService: BusClient]>([:])

    init(_ connection: BusConnection) throws {
        self.connection = connection
        runtime = try BusRuntime(name: "bus", log: .silent)
    }

    /// Asks one service one thing; with `resendEvery` again while no answer comes, for requests
    /// that the receiver knows again.
    func ask<Request: BusRequest>(
        _ request: Request,
        of service: PushBusService,
        timeout: Duration? = nil,
        resendEvery: Duration? = nil
    ) async throws -> Request.Answer {
        let client = try client(of: service)
        do throws(BusFailure) {
            return try await client.ask(
                request,
                timeout: timeout ?? connection.timeout,
                resendEvery: resendEvery
            )
        } catch {
            throw BusConnection.failure(error, of: service)
        }
    }

    func stop() {
        let all = clients.withLock { clients in
            defer { clients = [:] }
            return Array(clients.values)
        }
        for client in all { client.stop() }
        runtime.stop()
    }

    private func client(of service: PushBusService) throws -> BusClient {
        if let client = clients.withLock({ $0[service] }) { return client }
        let endpoint = try endpoint(of: service)
        let client: BusClient
        do throws(BusConfigurationError) {
            client = try BusClient(
                runtime: runtime,
                name: service.rawValue,
                endpoints: BusEndpointSource(parsing: endpoint),
                security: connection.security,
                metrics: Metrics(),
                log: .silent
            )
        } catch {
            throw CommandFailure("\(error)", exitCode: ExitCode.configuration)
        }
        // Two callers at once may both make one; the first to come stays.
        let kept = clients.withLock { clients in
            let kept = clients[service] ?? client
            clients[service] = kept
            return kept
        }
        if kept !== client { client.stop() }
        return kept
    }

    private func endpoint(of service: PushBusService) throws -> String {
        if let endpoint = connection.endpoint { return endpoint }
        let running = try connection.sockets(of: service)
        guard !running.isEmpty else {
            throw CommandFailure(
                "\(service.title) does not run in \(connection.directory): start it with 'pushbus up', or "
                    + "name another --directory or --endpoint",
                exitCode: ExitCode.unavailable
            )
        }
        return running.map { "ipc://\($0)" }.joined(separator: ",")
    }
}
