import Bus
import Contracts
import Glibc
import Loop
import ServiceKit
import TestKit
import ZeroMQ

/// A message of these tests: asks for its text back.
struct Echo: BusRequest, PackedMessage, Hashable {
    typealias Answer = EchoAnswer
    static let type = "test.echo.v1"
    var text: String
    var data: Blob

    init(_ text: String, data: [UInt8] = []) {
        self.text = text
        self.data = Blob(data)
    }

    func checkBounds() throws(ContractViolation) {
        try ContractViolation.check(text != "forbidden", "/text", "must be something else")
    }

    func pack(into packer: any Packer) {
        packer.beginMap(fields: 2)
        packer.field("text", text: text)
        packer.field("data", binary: data.bytes)
    }

    init(packed value: PackedValue) throws(ContractViolation) {
        text = try value.required("text").text()
        data = Blob(try value.required("data").binary())
    }
}

struct EchoAnswer: PackedMessage, Hashable {
    static let type = "test.echo.answer.v1"
    var text: String
    var data: Blob

    init(_ text: String, data: [UInt8] = []) {
        self.text = text
        self.data = Blob(data)
    }

    func pack(into packer: any Packer) {
        packer.beginMap(fields: 2)
        packer.field("text", text: text)
        packer.field("data", binary: data.bytes)
    }

    init(packed value: PackedValue) throws(ContractViolation) {
        text = try value.required("text").text()
        data = Blob(try value.required("data").binary())
    }
}

/// A message with a JSON form only, answered by `ack.v1`.
struct Note: BusRequest, Hashable {
    typealias Answer = Ack
    static let type = "test.note.v1"
    var line: String
}

/// One runtime with servers and clients on it, in a directory of its own.
final class BusWorld: Sendable {
    let runtime: BusRuntime
    let metrics = Metrics()
    let directory: TemporaryDirectory
    let log: Log

    init(log: Log = .silent) throws {
        self.log = log
        directory = try TemporaryDirectory()
        runtime = try BusRuntime(name: "bus", log: log)
    }

    deinit { runtime.stop() }

    var ipc: BusEndpoint { BusEndpoint(.ipc(directory.file("service.sock"))) }

    func write(_ text: String, to name: String) throws -> String {
        let path = directory.file(name)
        // A new file each time, so that its inode tells the change whatever the clock does.
        let temporary = "\(path).new"
        let file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        guard file >= 0 else { throw BusConfigurationError("cannot write \(name)") }
        defer { close(file) }
        let bytes = Array(text.utf8)
        guard Glibc.write(file, bytes, bytes.count) == bytes.count else {
            throw BusConfigurationError("cannot write \(name)")
        }
        rename(temporary, path)
        return path
    }

    func server(
        _ endpoint: BusEndpoint? = nil,
        security: BusSecurity = .trustedDirectory,
        inFlight: Int = 64,
        routes: BusRoutes = BusWorld.echoRoutes
    ) throws -> BusServer {
        try BusServer(
            runtime: runtime,
            name: "service",
            endpoint: endpoint ?? ipc,
            security: security,
            routes: routes,
            inFlight: inFlight,
            metrics: metrics,
            log: log
        )
    }

    func client(
        _ endpoints: [BusEndpoint]? = nil,
        source: BusEndpointSource? = nil,
        security: BusSecurity = .trustedDirectory,
        window: Int = 16,
        forcesJSON: Bool = false
    ) throws -> BusClient {
        try BusClient(
            runtime: runtime,
            name: "client",
            endpoints: source ?? .fixed(endpoints ?? [ipc]),
            security: security,
            window: window,
            metrics: metrics,
            log: log,
            forcesJSON: forcesJSON
        )
    }

    /// Answers echoes and notes; an echo of `fail` is refused.
    static var echoRoutes: BusRoutes {
        var routes = BusRoutes()
        routes.answer(Echo.self) { (request, _) throws(Reject) in
            if request.text == "fail" { throw Reject(.failed, "as asked") }
            return EchoAnswer(request.text, data: request.data.bytes)
        }
        routes.answer(Note.self) { (_, _) throws(Reject) in Ack() }
        return routes
    }

    /// Runs `body` while `servers` serve, then stops them and waits for their end.
    func serving<Result: Sendable>(
        _ servers: BusServer...,
        body: @Sendable ([BusEndpoint]) async throws -> Result
    ) async throws -> Result {
        let stop = StopSignal()
        return try await withThrowingTaskGroup(of: Void.self) { group in
            for server in servers {
                group.addTask { try await server.run(until: stop) }
            }
            var endpoints: [BusEndpoint] = []
            for server in servers {
                if let endpoint = await server.bound() { endpoints.append(endpoint) }
            }
            defer { stop.trigger() }
            let result = try await body(endpoints)
            stop.trigger()
            try await group.waitForAll()
            return result
        }
    }

    func count(_ name: String) -> Double { metrics.snapshot()[name] ?? 0 }
}
