import HTTPServer
import Loop
import ServiceKit

/// Runs the HTTP server of integrators and notes its port as `http`.
struct EventListener: Service {
    let name = "http"
    private let configuration: HTTPServerConfiguration
    private let endpoint: EventEndpoint
    private let context: ProcessContext

    init(
        _ configuration: HTTPServerConfiguration,
        _ endpoint: EventEndpoint,
        _ context: ProcessContext
    ) {
        self.configuration = configuration
        self.endpoint = endpoint
        self.context = context
        context.readiness.set(name, .waiting("the HTTP port is not open yet"))
    }

    func run(until stop: StopSignal) async throws {
        let server = HTTPServer(configuration: configuration, handler: endpoint)
        let port = try server.start()
        context.ports.set(name, port)
        context.readiness.set(name, .ok)
        await stop.wait()
        await server.stop()
    }
}
