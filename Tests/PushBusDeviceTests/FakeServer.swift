import Contracts
import FoundationEssentials
import Loop
import PushBusCrypto
import PushBusDevice

/// The mobile endpoints in memory, with their rules, and with faults that a test switches on.
final class FakeServer: HTTPTransport {
    static let address = "https://push.example.test"

    struct Account: Sendable {
        var userID: UserID
        var role = Role.member
        var oneTimeCode: String?
    }

    struct SessionRow: Sendable {
        var user: UserID
        var installation: String
        var access: String
        var refresh: String
        var used: Set<String> = []
        var proofs: Set<String> = []
    }

    struct Phone: Sendable {
        var owner: String?
        var revision: Int64 = 0
        var preferences = PushPreferences()
        var token: String?
        var keyID: String?
        var reason: String?
    }

    struct Request: Sendable {
        var method: String
        var path: String
        var bearer: String?
        var body: JSONValue?
    }

    /// What goes wrong with a request.
    enum Fault: Sendable {
        /// It never arrives.
        case unreachable
        /// It is carried out, and nobody hears of it.
        case lostReply
        /// Something else answers.
        case answer(Int, String)
        case raw(Int, String)
    }

    struct World: Sendable {
        var accounts: [String: Account] = [
            "alice": Account(userID: UserID("user-alice")),
            "bob": Account(userID: UserID("user-bob"), role: .admin),
        ]
        var sessions: [String: SessionRow] = [:]
        var phones: [String: Phone] = [:]
        var recoveries: [String: (user: UserID, installation: String)] = [:]
        var tests: [String: Int64] = [:]
        var isDown = false
        /// An old server knows nothing of proofs, revocation and recovery.
        var isOld = false
        var faults: [String: [Fault]] = [:]
        var requests: [Request] = []
        /// URLs that are not the server's.
        var strangers: [String] = []
        var counter = 0

        mutating func make(_ what: String) -> String {
            counter += 1
            return "\(what)-\(counter)"
        }
    }

    let world = Locked(World())
    /// Called with each path before it is answered.
    private let hook = Observer()

    final class Observer: Sendable {
        typealias Body = @Sendable (String) async -> Void
        private let body = Locked<[Body]>([])
        func set(_ new: @escaping Body) { body.withLock { $0 = [new] } }
        func call(_ path: String) async {
            for one in body.withLock({ $0 }) { await one(path) }
        }
    }

    func before(_ body: @escaping Observer.Body) { hook.set(body) }

    /// Lets the next request to that path go wrong.
    func fail(_ path: String, _ fault: Fault) {
        world.withLock { $0.faults[path, default: []].append(fault) }
    }

    var requests: [Request] { world.withLock { $0.requests } }

    var strangers: [String] { world.withLock { $0.strangers } }

    func requests(to path: String) -> [Request] { requests.filter { $0.path == path } }

    var sessions: [String: SessionRow] { world.withLock { $0.sessions } }

    func send(_ request: TransportRequest) async throws(TransportFailure) -> TransportReply {
        guard request.url.hasPrefix(Self.address + "/api/mobile") else {
            world.withLock { $0.strangers.append(request.url) }
            throw TransportFailure("nothing but the server is ever asked")
        }
        let path = String(request.url.dropFirst((Self.address + "/api/mobile").utf8.count))
        let bearer = request.headers.first { $0.name == "Authorization" }?.value
        let one = Request(
            method: request.method,
            path: path,
            bearer: bearer?.replacing("Bearer ", with: ""),
            body: try? JSONDecoder().decode(JSONValue.self, from: Data(request.body))
        )
        await hook.call(path)
        let (reply, fault) = world.withLock { world -> (TransportReply?, Fault?) in
            if world.isDown { return (nil, .unreachable) }
            world.requests.append(one)
            var fault: Fault?
            if world.faults[path]?.isEmpty == false { fault = world.faults[path]?.removeFirst() }
            if case .lostReply = fault { return (Self.answer(one, &world), fault) }
            return (fault == nil ? Self.answer(one, &world) : nil, fault)
        }
        switch fault {
        case .unreachable, .lostReply: throw TransportFailure("no reply")
        case .answer(let status, let code): return Self.problem(status, code)
        case .raw(let status, let text):
            return TransportReply(status: status, body: Array(text.utf8))
        case nil: break
        }
        guard let reply else { throw TransportFailure("no reply") }
        return reply
    }

    // MARK: Replies

    static func data(_ members: [String: JSONValue]) -> TransportReply {
        let bytes = try? JSONValue.object(["data": .object(members)]).canonicalBytes()
        return TransportReply(status: 200, body: bytes ?? [])
    }

    static func problem(_ status: Int, _ code: String) -> TransportReply {
        let body = JSONValue.object([
            "error": .object(["code": .string(code), "message": .string("no")])
        ])
        return TransportReply(status: status, body: (try? body.canonicalBytes()) ?? [])
    }

    static let invalid = problem(401, "invalid_credentials")
    static let unauthorized = problem(401, "unauthorized")

    private static func answer(_ request: Request, _ world: inout World) -> TransportReply {
        let path = request.path
        if world.isOld,
            path.hasPrefix("/auth/proof") || path.hasPrefix("/auth/revoke")
                || path.hasPrefix("/auth/recovery")
        {
            return problem(404, "not_found")
        }
        switch path {
        case "/auth/login", "/auth/pair": return signIn(request, &world)
        case "/auth/refresh": return refresh(request, &world)
        case "/auth/revoke": return revoke(request, &world)
        case "/auth/recovery": return openRecovery(request, &world)
        default: break
        }
        if path.hasPrefix("/auth/recovery/sessions") { return recovery(request, &world) }
        guard let session = world.sessions.first(where: { $0.value.access == request.bearer })
        else {
            return unauthorized
        }
        return authorized(request, session.key, session.value, &world)
    }
}
