import Bus
import Contracts
import FoundationEssentials
import HTTPClient
import HTTPServer
import Loop
import PushBusCrypto
import RegistrationCore
import RegistrationService
import ServiceKit
import Storage
import TestKit
import Testing

/// A whole Registration over real HTTP, a real bus and a real file, with clocks that a test moves.
final class RegistrationWorld: Sendable {
    static let deployment = "https://push.example.org"

    let directory: TemporaryDirectory
    let time: ManualTime
    let logs: LogCollector
    let context: ProcessContext
    let http: HTTPClient
    let bus: BusClient
    let peers: StubPeers
    private let runtime: BusRuntime
    private let running: [(stop: StopSignal, task: Task<Void, any Error>)]
    let port: UInt16

    private init(
        directory: TemporaryDirectory,
        time: ManualTime,
        logs: LogCollector,
        peers: StubPeers,
        limits: HTTPServerLimits?,
        passwordQueue: Int,
        storeOptions: SQLiteOptions
    ) async throws {
        self.directory = directory
        self.time = time
        self.logs = logs
        self.peers = peers
        context = ProcessContext(name: "registration", log: logs.log(), time: time)
        var reader = EnvironmentReader(
            prefix: "PUSHBUS_REGISTRATION_",
            values: [
                "PUSHBUS_REGISTRATION_BIND": "ipc://\(directory.path)/registration.sock",
                "PUSHBUS_REGISTRATION_EVENTINGEST": "ipc://\(directory.path)/eventingest.sock",
                "PUSHBUS_REGISTRATION_DELIVERY": "ipc://\(directory.path)/delivery.sock",
                "PUSHBUS_REGISTRATION_HTTP": "127.0.0.1:0",
                "PUSHBUS_REGISTRATION_STORE": "sqlite:\(directory.path)/registration.db",
                "PUSHBUS_REGISTRATION_DEPLOYMENT_ID": Self.deployment,
            ]
        )
        var settings = try RegistrationSettings(&reader)
        if let limits { settings.http.limits = limits }
        let assembly = try await RegistrationAssembly.assemble(
            settings,
            context,
            passwordCost: .test,
            passwordQueue: passwordQueue,
            storeOptions: storeOptions
        )
        running = assembly.services.map { service in
            let stop = StopSignal()
            return (stop, Task { try await service.run(until: stop) })
        }
        _ = await context.readiness.waitUntilStarted()
        port = try #require(context.ports.all["http"])
        runtime = try BusRuntime(name: "test-bus", log: .silent)
        bus = try BusClient(
            runtime: runtime,
            name: "test",
            endpoints: BusEndpointSource(parsing: "ipc://\(directory.path)/registration.sock"),
            metrics: Metrics(),
            log: .silent
        )
        http = try HTTPClient()
    }

    private func stop() async throws {
        bus.stop()
        http.stop()
        runtime.stop()
        for service in running.reversed() {
            service.stop.trigger()
            try await service.task.value
        }
    }

    /// Runs a body in a new world, with a Delivery that answers unless it is left out; `again` runs
    /// another body after a restart of Registration, and `between` works on its files in between. With
    /// `isFullAgain` the file may not grow after the restart.
    static func run(
        limits: HTTPServerLimits? = nil,
        withDelivery: Bool = true,
        passwordQueue: Int = PasswordThread.defaultCapacity,
        isFullAgain: Bool = false,
        _ body: @escaping @Sendable (RegistrationWorld) async throws -> Void,
        between: (@Sendable (TemporaryDirectory) async throws -> Void)? = nil,
        again: (@Sendable (RegistrationWorld) async throws -> Void)? = nil
    ) async throws {
        let directory = try TemporaryDirectory()
        let time = ManualTime()
        let logs = LogCollector()
        let peers = StubPeers(directory: directory)
        if withDelivery { try await peers.startDelivery() }
        for (index, part) in [body, again].compactMap(\.self).enumerated() {
            var storeOptions = SQLiteOptions()
            if index > 0 {
                try await between?(directory)
                if isFullAgain { storeOptions.maximumPages = try pages(in: directory) }
            }
            let world = try await RegistrationWorld(
                directory: directory,
                time: time,
                logs: logs,
                peers: peers,
                limits: limits,
                passwordQueue: passwordQueue,
                storeOptions: storeOptions
            )
            do {
                try await part(world)
            } catch {
                Issue.record(error)
            }
            try await world.stop()
        }
        await peers.stop()
    }

    private static func pages(in directory: TemporaryDirectory) throws -> Int {
        let path = directory.file("registration.db")
        return try Data(contentsOf: URL(filePath: path)).count / 4096
    }

    // MARK: Bus

    @discardableResult
    func addUser(
        _ name: String,
        password: String = "correct horse",
        role: Role = .member
    ) async throws -> UserAddAnswer {
        try await bus.ask(
            UserAdd(username: name, password: Password(password), role: role),
            timeout: .seconds(10)
        )
    }

    func watermark() async throws -> Int64 {
        try await bus.ask(AudienceOpen(), timeout: .seconds(10)).watermark
    }

    func audience(
        _ category: Contracts.Category = .alert,
        watermark: Int64 = .max,
        limit: Int = 512,
        after: InstallationID? = nil
    ) async throws -> AudiencePageAnswer {
        try await bus.ask(
            AudiencePage(
                category: category,
                watermark: watermark,
                audience: .everyone,
                after: after,
                limit: limit
            ),
            timeout: .seconds(10)
        )
    }

    func check(
        _ installation: String,
        binding: Int64,
        watermark: Int64 = .max,
        category: Contracts.Category = .alert
    ) async throws -> EligibilityCheckAnswer.Verdict {
        let check = EligibilityCheck.Check(
            installationID: InstallationID(installation),
            binding: binding,
            watermark: watermark,
            category: category
        )
        let answer = try await bus.ask(EligibilityCheck(checks: [check]), timeout: .seconds(10))
        return try #require(answer.verdicts.first)
    }

    // MARK: HTTP

    func call(
        _ method: String,
        _ path: String,
        _ body: String? = nil,
        token: String? = nil
    ) async throws -> Reply {
        var headers: [(String, String)] = []
        if body != nil { headers.append(("Content-Type", "application/json")) }
        if let token { headers.append(("Authorization", "Bearer \(token)")) }
        let reply = try await http.send(
            HTTPClientRequest(
                method: method,
                url: "http://127.0.0.1:\(port)/api/mobile\(path)",
                headers: headers,
                body: Array((body ?? "").utf8)
            )
        )
        OpenAPIDocument.expect(method, path, isAnswered: reply.status)
        return Reply(reply)
    }

    func login(
        _ user: String,
        _ installation: String,
        password: String = "correct horse"
    ) async throws -> Phone {
        let reply = try await call(
            "POST",
            "/auth/login",
            """
            {"username":"\(user)","password":"\(password)",\
            "installation_id":"\(installation)","device_name":"Phone of \(user)"}
            """
        )
        try #require(reply.status == 200)
        return Phone(world: self, installation: installation, session: reply)
    }

    /// Trades a pairing code that an operator made.
    func pair(_ user: String, _ installation: String) async throws -> Phone {
        let code = try await ask(PairingCreate(username: user)).code.text
        let reply = try await call(
            "POST",
            "/auth/pair",
            """
            {"code":"\(code)","installation_id":"\(installation)",\
            "device_name":"Phone of \(user)"}
            """
        )
        try #require(reply.status == 200)
        return Phone(world: self, installation: installation, session: reply)
    }

    /// A phone of a new account that receives alerts.
    func registeredPhone(
        _ user: String,
        token: String = "aa11",
        role: Role = .member
    ) async throws -> Phone {
        try await addUser(user, role: role)
        let phone = try await login(user, "phone-of-\(user)")
        #expect(try await phone.save(revision: 0, "enabled", "alerts").status == 200)
        #expect(try await phone.register(revision: 1, token: token).status == 200)
        return phone
    }
}

/// What the server answered.
struct Reply: Sendable {
    let status: Int
    let text: String
    let headers: [String: String]
    private let json: JSONValue

    init(_ response: HTTPClientResponse) {
        status = response.status
        text = String(decoding: response.body, as: UTF8.self)
        headers = Dictionary(
            response.headers.map { ($0.name.lowercased(), $0.value) },
            uniquingKeysWith: { first, _ in first }
        )
        json = (try? JSONDecoder().decode(JSONValue.self, from: Data(response.body))) ?? .null
    }

    /// A member of `data`.
    subscript(_ name: String) -> JSONValue? { json["data"]?[name] }

    /// Names of the members of `data`.
    var members: Set<String> { Set((json["data"]?.object ?? [:]).keys) }

    func string(_ name: String) -> String { self[name]?.string ?? "" }

    func flag(_ name: String) -> Bool? {
        if case .bool(let flag)? = self[name] { flag } else { nil }
    }

    var revision: Int64? { self["revision"]?.integer }

    var code: String? { json["error"]?["code"]?.string }
}

/// A signed-in phone.
struct Phone: Sendable {
    let world: RegistrationWorld
    let installation: String
    let session: Reply

    var accessToken: String { session.string("access_token") }
    var refreshToken: String { session.string("refresh_token") }

    static let keyID = "22222222-2222-4222-8222-222222222222"
    /// 32 bytes of the given value.
    static func key(_ byte: UInt8 = 7) -> String {
        Base64.encode([UInt8](repeating: byte, count: 32))
    }

    func settings() async throws -> Reply {
        try await world.call("GET", "/push/settings", token: accessToken)
    }

    /// Saves with the named preferences on and the others off.
    func save(revision: Int64, _ on: String...) async throws -> Reply {
        let names = ["enabled", "alerts", "security", "task_failure", "task_success"]
        let members = names.map { "\"\($0)\":\(on.contains($0))" }.joined(separator: ",")
        return try await world.call(
            "PUT",
            "/push/settings",
            "{\"expected_revision\":\(revision),\"preferences\":{\(members)}}",
            token: accessToken
        )
    }

    func register(
        revision: Int64,
        token: String = "aa11",
        environment: String = "sandbox",
        key: String = Phone.key(),
        keyID: String = Phone.keyID,
        deployment: String = RegistrationWorld.deployment
    ) async throws -> Reply {
        try await world.call(
            "POST",
            "/push/encrypted-register",
            """
            {"expected_revision":\(revision),"device_token":"\(token)",\
            "environment":"\(environment)","content_key_id":"\(keyID)",\
            "content_key":"\(key)","deployment_id":"\(deployment)"}
            """,
            token: accessToken
        )
    }

    func logout() async throws -> Reply {
        try await world.call("POST", "/auth/logout", token: accessToken)
    }

    func refresh() async throws -> Reply {
        try await world.call("POST", "/auth/refresh", "{\"refresh_token\":\"\(refreshToken)\"}")
    }

    func test(_ event: String, revision: Int64) async throws -> Reply {
        try await world.call(
            "POST",
            "/push/test",
            "{\"event_id\":\"\(event)\",\"expected_revision\":\(revision)}",
            token: accessToken
        )
    }

    func readTest(_ event: String) async throws -> Reply {
        try await world.call("GET", "/push/test/\(event)", token: accessToken)
    }

    /// What `audience.page` says about this phone.
    func recipient() async throws -> AudiencePageAnswer.Recipient? {
        try await world.audience().recipients.first { $0.installationID.text == installation }
    }
}
