import Contracts
import HTTPServer
import RegistrationCore

/// Which endpoint a request is for.
enum MobileRoute: Hashable {
    case login
    case pair
    case refresh
    case logout
    case revoke
    case issueCode
    case issueProof
    case openRecovery
    case listRecovery
    case endRecovered(SessionID)
    case listDevices
    case endDevice(SessionID)
    case readSettings
    case saveSettings
    case register
    case requestTest
    case readTest(EventID)

    var needsSession: Bool {
        switch self {
        case .login, .pair, .refresh, .revoke, .openRecovery: false
        default: true
        }
    }

    var takesBody: Bool {
        switch self {
        case .readSettings, .readTest, .listDevices, .endDevice, .listRecovery, .endRecovered: false
        default: true
        }
    }

    var needsBody: Bool { takesBody && self != .logout && self != .issueCode }

    private static let prefix = "/api/mobile"
    private static let byPath: [String: [String: MobileRoute]] = [
        "/auth/login": ["POST": .login],
        "/auth/pair": ["POST": .pair],
        "/auth/refresh": ["POST": .refresh],
        "/auth/logout": ["POST": .logout],
        "/auth/revoke": ["POST": .revoke],
        "/auth/pairing-code": ["POST": .issueCode],
        "/auth/proof": ["POST": .issueProof],
        "/auth/recovery": ["POST": .openRecovery],
        "/auth/recovery/sessions": ["GET": .listRecovery],
        "/devices": ["GET": .listDevices],
        "/push/settings": ["GET": .readSettings, "PUT": .saveSettings],
        "/push/encrypted-register": ["POST": .register],
        "/push/test": ["POST": .requestTest],
    ]

    static func find(_ head: HTTPRequestHead) throws(RequestProblem) -> MobileRoute {
        guard head.path.hasPrefix(prefix) else { throw .notFound }
        let path = String(head.path.dropFirst(prefix.count))
        if path == "/push/register" { throw .gone }
        if let id = rest(of: path, after: tests) {
            guard head.method == "GET" else { throw methodNotAllowed }
            guard let id = EventID(id) else {
                throw .invalid("event_id must be a lowercase UUID.")
            }
            return .readTest(id)
        }
        if let id = rest(of: path, after: devices) {
            guard head.method == "DELETE" else { throw methodNotAllowed }
            guard id.utf8.count <= 128 else { throw .notFound }
            return .endDevice(SessionID(id))
        }
        if let id = rest(of: path, after: recovered) {
            guard head.method == "DELETE" else { throw methodNotAllowed }
            guard id.utf8.count <= 128 else { throw .notFound }
            return .endRecovered(SessionID(id))
        }
        guard let methods = byPath[path] else { throw .notFound }
        guard let route = methods[head.method] else { throw methodNotAllowed }
        return route
    }

    /// The methods of a path, for `Allow`.
    static func methods(of path: String) -> String {
        let path = String(path.dropFirst(prefix.count))
        if rest(of: path, after: tests) != nil { return "GET" }
        if rest(of: path, after: devices) != nil { return "DELETE" }
        if rest(of: path, after: recovered) != nil { return "DELETE" }
        return byPath[path]?.keys.sorted().joined(separator: ", ") ?? ""
    }

    private static let tests = "/push/test/"
    private static let recovered = "/auth/recovery/sessions/"
    private static let devices = "/devices/"

    private static func rest(of path: String, after start: String) -> String? {
        guard path.hasPrefix(start), path.utf8.count > start.utf8.count else { return nil }
        return String(path.dropFirst(start.count))
    }

    private static let methodNotAllowed = RequestProblem(
        405,
        "method_not_allowed",
        "This path has other methods; see Allow."
    )
}
