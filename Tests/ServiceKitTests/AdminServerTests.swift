import HTTPServer
import Loop
import TestKit
import Testing

@testable import ServiceKit

@Suite(.timeLimit(.minutes(1)))
struct AdminServerTests {
    @Test func servesHealthReadinessAndMetrics() async throws {
        let log = LogCollector()
        let context = ProcessContext(name: "sample", log: log.log())
        context.metrics.counter("sample_total", help: "samples").add(3)
        let pages = AdminPages(metrics: context.metrics, readiness: context.readiness)
        #expect(answer(pages, "/healthz").status == 200)
        context.readiness.set("store", .waiting("not open"))
        #expect(answer(pages, "/readyz").status == 503)
        #expect(text(answer(pages, "/readyz")).contains("store: not open"))
        context.readiness.set("store", .ok)
        #expect(answer(pages, "/readyz").status == 200)
        #expect(text(answer(pages, "/metrics")).contains("sample_total 3"))
        #expect(answer(pages, "/other").status == 404)
        #expect(answer(pages, "/healthz", method: "POST").status == 405)
    }

    @Test func opensItsPortAndStops() async throws {
        let context = ProcessContext(name: "sample", log: .silent)
        let admin = AdminServer(
            address: try HostAndPort(parsing: "127.0.0.1:0"),
            context: context
        )
        #expect(!context.readiness.isReady)
        let stop = StopSignal()
        async let running: Void = admin.run(until: stop)
        #expect(await context.readiness.waitUntilStarted())
        #expect(context.ports.all["admin"] ?? 0 > 0)
        stop.trigger()
        try await running
    }

    @Test(arguments: ["127.0.0.1", "127.0.0.1:", ":80", "127.0.0.1:65536", "example.com:80", ""])
    func refusesWhatIsNoAddress(text: String) {
        #expect(throws: HTTPServerError.self) { try HostAndPort(parsing: text) }
    }

    @Test(arguments: ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"])
    func isForThisHostOnly(text: String) {
        var reader = EnvironmentReader(prefix: "PUSHBUS_X_", values: ["PUSHBUS_X_ADMIN": text])
        _ = ProcessSettings(&reader)
        let errors = #expect(throws: ConfigurationErrors.self) { try reader.finish() }
        #expect(errors?.problems.map(\.variable) == ["PUSHBUS_X_ADMIN"])
    }

    private func answer(
        _ pages: AdminPages,
        _ path: String,
        method: String = "GET"
    ) -> HTTPResponse {
        guard case .respond(let response) = pages.admit(HTTPRequestHead(method: method, path: path))
        else { return .text(500, "") }
        return response
    }

    private func text(_ response: HTTPResponse) -> String {
        String(decoding: response.body, as: UTF8.self)
    }
}
