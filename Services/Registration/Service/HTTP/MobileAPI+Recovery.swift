import Contracts
import HTTPServer
import RegistrationCore

/// How a phone that has lost its credentials finds its old session and ends it.
extension MobileAPI {
    func openRecovery(_ body: [UInt8], from source: String) async throws -> HTTPResponse {
        let request = try Recovery.Request(parsing: body)
        guard let (token, recovery) = try await parts.desk.openRecovery(request, from: source)
        else { throw RequestProblem.invalidCredentials }
        return JSONReply.data { json in
            json.field("recovery_token", token.text)
            json.field("expires_in", Recovery.lifetimeSeconds)
            json.field("user_id", recovery.userID.text)
            json.field("installation_id", recovery.installationID.text)
        }
    }

    func listRecovery(_ head: HTTPRequestHead) async throws -> HTTPResponse {
        let sessions = try await parts.store.sessions(of: authorize(head))
        return JSONReply.data { json in
            json.key("sessions")
            json.array { json in
                for session in sessions {
                    json.object { JSONReply.device(session, nil, &$0) }
                }
            }
        }
    }

    func endRecovered(_ id: SessionID, _ head: HTTPRequestHead) async throws -> HTTPResponse {
        guard try await parts.store.endSession(id, of: authorize(head)) else {
            throw RequestProblem.notFound
        }
        return JSONReply.data { _ in }
    }

    private func authorize(_ head: HTTPRequestHead) async throws -> Recovery {
        guard let token = bearer(head), let recovery = try await parts.desk.recovery(token: token)
        else { throw RequestProblem.unauthorized }
        return recovery
    }
}
