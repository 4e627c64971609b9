import Contracts
import FoundationEssentials
import HTTPServer
import Loop
import PushBusCrypto

/// The HTTP interface by which tests, tools and phones drive the simulator; plain HTTP on a
/// loopback address. README.md beside the sources lists every call.
struct ControlAPI: HTTPHandler {
    let state: SimulatorState
    let hosts: SimulatedHosts
    let facts: SimulatorFacts

    func admit(_ head: HTTPRequestHead) -> HTTPAdmission { .read(limit: 1_048_576) }

    func respond(_ request: HTTPRequest) async -> HTTPResponse {
        do {
            return try await route(request)
        } catch let error as ControlError {
            return error.response
        } catch let error as DecodingError {
            return ControlError(400, Self.text(of: error)).response
        } catch {
            return ControlError(400, "the body is not acceptable: \(error)").response
        }
    }

    private func route(_ request: HTTPRequest) async throws -> HTTPResponse {
        let parts = request.head.path.split(separator: "/").map(String.init)
        switch (request.head.method, parts.first, parts.count) {
        case ("GET", nil, 0): return .json(200, facts.json(hosts.ports))
        case (_, "tokens", 1...3): return try await token(request, Array(parts.dropFirst()))
        case (_, "script", 1): return try script(request, key: nil)
        case (_, "settings", 1): return try await settings(request)
        case (_, "clock", 1): return try await clock(request)
        case (_, "keys", 1...2): return try keys(request, id: parts.count > 1 ? parts[1] : nil)
        case (_, "teams", 1...2): return try teams(request, id: parts.count > 1 ? parts[1] : nil)
        case (_, "connections", 1...2):
            return try await connections(request, action: parts.count > 1 ? parts[1] : nil)
        case ("GET", "statistics", 1): return statistics()
        case ("POST", "reset", 1):
            state.content.withLock { content in
                content.registry.removeAll()
                content.scripts = [:]
                content.commonScript = ScriptQueue([])
                content.clock.reset()
                content.connectionRate = ConnectionRate()
                content.statistics = SimulatorStatistics()
            }
            return HTTPResponse(status: 204)
        default:
            throw ControlError(404, "no such call; the README of the simulator lists all of them")
        }
    }

    // MARK: Tokens

    private struct Registration: Decodable {
        var environment: APNsEnvironment?
        var topic: String?
        var serviceExtension: ServiceExtension?

        enum CodingKeys: String, CodingKey {
            case environment, topic
            case serviceExtension = "extension"
        }
    }

    private struct Removal: Decodable {
        var at_ms: Int64?
        var reason: String?
    }

    private func token(_ request: HTTPRequest, _ parts: [String]) async throws -> HTTPResponse {
        let method = request.head.method
        if parts.isEmpty {
            guard method == "POST" else { throw ControlError(405, "POST issues a token") }
            return try register(request, Hex.encode(SecureRandom.bytes(32)), status: 201)
        }
        guard let token = APNsRequest.token(parts[0]) else {
            throw ControlError(400, "a token is an even number of hex digits, 2 to 1024")
        }
        let key = DeviceRegistry.Key(environment: try environment(request), token: token)
        switch (method, parts.count > 1 ? parts[1] : nil) {
        case ("PUT", nil): return try register(request, token, status: 200)
        case ("DELETE", nil): return try remove(request, key)
        case ("GET", "received"): return received(request, key)
        case ("GET", "screen"): return screen(key)
        case ("GET", "stream"): return stream(key)
        case (_, "script"): return try script(request, key: key)
        default:
            throw ControlError(
                405,
                "a token takes PUT, DELETE, GET /received, GET /screen, GET /stream and PUT or"
                    + " DELETE /script"
            )
        }
    }

    private func environment(_ request: HTTPRequest) throws -> APNsEnvironment {
        guard let text = request.head.query["environment"] else { return .sandbox }
        guard let environment = APNsEnvironment(rawValue: text) else {
            throw ControlError(400, "environment is sandbox or production")
        }
        return environment
    }

    private func register(
        _ request: HTTPRequest,
        _ token: String,
        status: Int
    ) throws -> HTTPResponse {
        var wish = Registration()
        if !request.body.isEmpty {
            wish = try JSONDecoder().decode(Registration.self, from: Data(request.body))
        }
        let key = DeviceRegistry.Key(
            environment: try wish.environment ?? environment(request),
            token: token
        )
        let device = state.content.withLock {
            $0.registry.register(
                key,
                topic: wish.topic,
                serviceExtension: wish.serviceExtension
            )
        }
        var json = CompactJSON()
        json.object {
            $0.field("token", token)
            $0.field("environment", key.environment.rawValue)
            if let topic = device.topic { $0.field("topic", topic) }
            $0.field("revision", device.revision)
        }
        return .json(status, json.bytes)
    }

    private func remove(
        _ request: HTTPRequest,
        _ key: DeviceRegistry.Key
    ) throws -> HTTPResponse {
        var removal = Removal()
        if !request.body.isEmpty {
            removal = try JSONDecoder().decode(Removal.self, from: Data(request.body))
        }
        let reason = removal.reason ?? "Unregistered"
        guard APNsAnswer.statusOfReason[reason] == 410 else {
            throw ControlError(400, "reason is Unregistered or ExpiredToken")
        }
        state.content.withLock { content in
            content.registry.unregister(
                key,
                at: removal.at_ms.map(UnixMilliseconds.init) ?? content.now,
                reason: reason
            )
        }
        return HTTPResponse(status: 204)
    }

    private func screen(_ key: DeviceRegistry.Key) -> HTTPResponse {
        let screen = state.content.withLock { content in
            Screen(
                content.registry.received(key, after: 0),
                serviceExtension: content.registry.devices[key]?.serviceExtension ?? .decrypts,
                at: content.now
            )
        }
        var json = CompactJSON()
        json.object {
            $0.key("screen")
            $0.array { json in
                for entry in screen.entries {
                    json.object {
                        $0.field("number", entry.notification.number)
                        if let id = entry.notification.collapseID { $0.field("collapse_id", id) }
                        $0.field("text", entry.text.rawValue)
                    }
                }
            }
        }
        return .json(200, json.bytes)
    }

    private func received(_ request: HTTPRequest, _ key: DeviceRegistry.Key) -> HTTPResponse {
        let after = request.head.query["after"].flatMap { UInt64($0) } ?? 0
        let found = state.content.withLock { $0.registry.received(key, after: after) }
        var json = CompactJSON()
        json.object {
            $0.key("received")
            $0.array { json in for notification in found { notification.write(to: &json) } }
        }
        return .json(200, json.bytes)
    }

    private func stream(_ key: DeviceRegistry.Key) -> HTTPResponse {
        let stream = PhoneStream(state: state, key: key)
        return .stream(
            headers: [("Content-Type", "text/event-stream"), ("Cache-Control", "no-store")]
        ) { writer in
            await stream.run(writer)
        }
    }

    // MARK: Scripts

    private func script(_ request: HTTPRequest, key: DeviceRegistry.Key?) throws -> HTTPResponse {
        let queue: ScriptQueue
        switch request.head.method {
        case "PUT":
            queue = try JSONDecoder().decode(ScriptQueue.self, from: Data(request.body))
        case "DELETE": queue = ScriptQueue([])
        default: throw ControlError(405, "a script takes PUT and DELETE")
        }
        try state.content.withLock { (content) throws(ControlError) in
            guard let key else {
                content.commonScript = queue
                return
            }
            guard content.scripts.count < 100_000 || content.scripts[key] != nil else {
                throw ControlError(409, "100000 tokens have scripts; delete some or POST /reset")
            }
            content.scripts[key] = queue.isEmpty ? nil : queue
        }
        return HTTPResponse(status: 204)
    }

    /// One line that names the field.
    private static func text(of error: DecodingError) -> String {
        switch error {
        case .dataCorrupted(let context), .keyNotFound(_, let context),
            .typeMismatch(_, let context), .valueNotFound(_, let context):
            let path = context.codingPath.map(\.stringValue).joined(separator: ".")
            return path.isEmpty ? context.debugDescription : "\(path): \(context.debugDescription)"
        @unknown default: return "the body is not acceptable"
        }
    }
}
