import HTTPServer
import Loop
import ServiceKit

/// Runs the app's HTTP server and notes its port as `http`.
struct HTTPEndpoint: Service {
    let name = "http"
    let configuration: HTTPServerConfiguration
    let handler: any HTTPHandler
    let context: ProcessContext

    init(
        configuration: HTTPServerConfiguration,
        handler: any HTTPHandler,
        context: ProcessContext
    ) {
        self.configuration = configuration
        self.handler = handler
        self.context = context
        context.readiness.set("http", .waiting("the HTTP port is not open yet"))
    }

    func run(until stop: StopSignal) async throws {
        let server = HTTPServer(configuration: configuration, handler: handler)
        let port = try server.start()
        context.ports.set(name, port)
        context.readiness.set(name, .ok)
        await stop.wait()
        await server.stop()
    }
}
