import HTTPServer
import Loop

/// The operator's port of a process: `/healthz`, `/readyz` and `/metrics`, on loopback.
package struct AdminServer: Service {
    package let name = "admin"
    private let address: HostAndPort
    private let context: ProcessContext

    /// Serves at that address and notes the port as `admin`.
    package init(address: HostAndPort, context: ProcessContext) {
        self.address = address
        self.context = context
        context.readiness.set(name, .waiting("the admin port is not open yet"))
    }

    package func run(until stop: StopSignal) async throws {
        var limits = HTTPServerLimits()
        limits.connections = 32
        limits.concurrentRequests = 16
        limits.stopGrace = .milliseconds(200)
        let server = HTTPServer(
            configuration: HTTPServerConfiguration(
                host: address.host,
                port: address.port,
                limits: limits
            ),
            handler: AdminPages(metrics: context.metrics, readiness: context.readiness)
        )
        let port = try server.start()
        context.ports.set(name, port)
        context.readiness.set(name, .ok)
        await stop.wait()
        await server.stop()
    }
}

/// The pages; all of them are answered from memory before any body is read.
struct AdminPages: HTTPHandler {
    let metrics: Metrics
    let readiness: Readiness

    func admit(_ head: HTTPRequestHead) -> HTTPAdmission {
        guard head.method == "GET" || head.method == "HEAD" else {
            var response = HTTPResponse.text(405, "only GET\n")
            response.headers.append(("Allow", "GET, HEAD"))
            return .respond(response)
        }
        switch head.path {
        case "/healthz": return .respond(.text(200, "ok\n"))
        case "/readyz": return .respond(ready())
        case "/metrics":
            return .respond(
                HTTPResponse(
                    status: 200,
                    headers: [("Content-Type", "text/plain; version=0.0.4; charset=utf-8")],
                    body: Array(metrics.render().utf8)
                )
            )
        default: return .respond(.text(404, "pages: /healthz /readyz /metrics\n"))
        }
    }

    func respond(_ request: HTTPRequest) async -> HTTPResponse {
        .text(404, "pages: /healthz /readyz /metrics\n")
    }

    /// 200 when every condition holds, otherwise 503; the body names each with its reason.
    private func ready() -> HTTPResponse {
        let lines = readiness.conditions.map { condition in
            switch condition.standing {
            case .ok: "ok       \(condition.name)\n"
            case .waiting(let reason): "waiting  \(condition.name): \(reason)\n"
            case .lacking(let reason): "lacking  \(condition.name): \(reason)\n"
            }
        }
        return .text(readiness.isReady ? 200 : 503, lines.joined())
    }
}
