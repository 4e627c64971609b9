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
    case listUsers
    case addUser
    case changeRole(UserID)
    case changePassword(UserID)
    case changeTOTP(UserID)
    case deleteUser(UserID)
    case pairUser(UserID)

    var needsSession: Bool {
        switch self {
        case .login, .pair, .refresh, .revoke, .openRecovery: false
        default: true
        }
    }

    var takesBody: Bool {
        switch self {
        case .readSettings, .readTest, .listDevices, .endDevice, .listRecovery, .endRecovered,
            .listUsers, .deleteUser:
            false
        default: true
        }
    }

    var needsBody: Bool {
        switch self {
        case .logout, .issueCode, .pairUser: false
        default: takesBody
        }
    }

    static func find(_ head: HTTPRequestHead) throws(RequestProblem) -> MobileRoute {
        guard head.path.hasPrefix(prefix) else { throw .notFound }
        let path = head.path.dropFirst(prefix.count)
        if path == gone { throw head.method == "POST" ? .gone : methodNotAllowed }
        var isKnown = false
        for endpoint in endpoints {
            guard let parameter = endpoint.match(path) else { continue }
            isKnown = true
            guard endpoint.method == head.method else { continue }
            return try endpoint.route(parameter)
        }
        throw isKnown ? methodNotAllowed : .notFound
    }

    /// The methods of a path, for `Allow`.
    static func methods(of path: String) -> String {
        let path = path.dropFirst(prefix.count)
        if path == gone { return "POST" }
        return endpoints.filter { $0.match(path) != nil }.map(\.method).sorted()
            .joined(separator: ", ")
    }

    static let prefix = "/api/mobile"
    /// The plaintext path of old.
    static let gone = "/push/register"

    private static let methodNotAllowed = RequestProblem(
        405,
        "method_not_allowed",
        "This path has other methods; see Allow."
    )
}

extension MobileRoute {
    /// One method of one path, which may have one `{parameter}`.
    struct Endpoint: Sendable {
        let method: String
        /// Below `/api/mobile`.
        let path: String
        /// Before and after the parameter; the whole path is before when there is none.
        private let before: String
        private let after: String?
        let route: @Sendable (String) throws(RequestProblem) -> MobileRoute

        init(
            _ method: String,
            _ path: String,
            _ route: @escaping @Sendable (String) throws(RequestProblem) -> MobileRoute
        ) {
            self.method = method
            self.path = path
            self.route = route
            let parts = path.split(separator: "{", maxSplits: 1)
            before = String(parts[0])
            after = parts.count > 1 ? String(parts[1].drop { $0 != "}" }.dropFirst()) : nil
        }

        /// The parameter, empty where there is none; nil when it is another path.
        func match(_ path: Substring) -> String? {
            guard let after else { return path == before ? "" : nil }
            guard path.hasPrefix(before), path.hasSuffix(after) else { return nil }
            let bytes = path.utf8.count - before.utf8.count - after.utf8.count
            guard (1...MobileRoute.longestParameter).contains(bytes) else { return nil }
            let parameter = path.dropFirst(before.count).dropLast(after.count)
            return parameter.contains("/") ? nil : String(parameter)
        }
    }

    /// Bytes of the longest parameter of a path.
    static let longestParameter = 128

    static let endpoints: [Endpoint] = [
        Endpoint("POST", "/auth/login") { _ in .login },
        Endpoint("POST", "/auth/pair") { _ in .pair },
        Endpoint("POST", "/auth/refresh") { _ in .refresh },
        Endpoint("POST", "/auth/logout") { _ in .logout },
        Endpoint("POST", "/auth/revoke") { _ in .revoke },
        Endpoint("POST", "/auth/pairing-code") { _ in .issueCode },
        Endpoint("POST", "/auth/proof") { _ in .issueProof },
        Endpoint("POST", "/auth/recovery") { _ in .openRecovery },
        Endpoint("GET", "/auth/recovery/sessions") { _ in .listRecovery },
        Endpoint("DELETE", "/auth/recovery/sessions/{session_id}") { .endRecovered(SessionID($0)) },
        Endpoint("GET", "/devices") { _ in .listDevices },
        Endpoint("DELETE", "/devices/{session_id}") { .endDevice(SessionID($0)) },
        Endpoint("GET", "/push/settings") { _ in .readSettings },
        Endpoint("PUT", "/push/settings") { _ in .saveSettings },
        Endpoint("POST", "/push/encrypted-register") { _ in .register },
        Endpoint("POST", "/push/test") { _ in .requestTest },
        Endpoint("GET", "/push/test/{event_id}") { (text) throws(RequestProblem) in
            guard let id = EventID(text) else {
                throw .invalid("event_id must be a lowercase UUID.")
            }
            return .readTest(id)
        },
        Endpoint("GET", "/admin/users") { _ in .listUsers },
        Endpoint("POST", "/admin/users") { _ in .addUser },
        Endpoint("PUT", "/admin/users/{user_id}/role") { .changeRole(UserID($0)) },
        Endpoint("PUT", "/admin/users/{user_id}/password") { .changePassword(UserID($0)) },
        Endpoint("PUT", "/admin/users/{user_id}/totp") { .changeTOTP(UserID($0)) },
        Endpoint("POST", "/admin/users/{user_id}/pairing-code") { .pairUser(UserID($0)) },
        Endpoint("DELETE", "/admin/users/{user_id}") { .deleteUser(UserID($0)) },
    ]
}
