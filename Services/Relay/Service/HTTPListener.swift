import HTTPServer
import Loop
import ServiceKit

/// The public endpoint as a service: stops after what is under way has its answer.
struct HTTPListener: Service {
    let name = "http"
    let configuration: HTTPServerConfiguration
    let endpoint: SendEndpoint
    let relay: Relay
    let context: ProcessContext

    func run(until stop: StopSignal) async throws {
        let server = HTTPServer(configuration: configuration, handler: endpoint)
        let port = try server.start()
        context.ports.set(name, port)
        context.log.info("http listening", ["port": .int(port)])
        context.readiness.set(name, .ok)
        await stop.wait()
        relay.refuseWaiting()
        await server.stop()
    }
}
