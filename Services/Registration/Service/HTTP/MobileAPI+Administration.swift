import Contracts
import HTTPServer
import RegistrationCore

/// What an administrator does with accounts: the same as `pushbus user`.
extension MobileAPI {
    func administer(
        _ request: HTTPRequest,
        _ route: MobileRoute,
        _ caller: Caller
    ) async throws -> HTTPResponse {
        guard caller.role == .admin else { throw RequestProblem.administratorsOnly }
        let accounts = parts.accounts
        let who = AccountDesk.Administrator.account(caller)
        switch route {
        case .listUsers:
            return Self.list(try await accounts.list(AccountRequest.page(request.head.query)))
        case .addUser:
            let answer = try await accounts.add(AccountRequest.addition(request.body), by: who)
            guard answer.added else { throw RequestProblem.accountExists }
            return JSONReply.data { $0.field("user_id", answer.userID.text) }
        case .changeRole(let id):
            let role = try AccountRequest.role(request.body)
            let answer = try known(await accounts.changeRole(of: .id(id), to: role, by: who))
            return JSONReply.data { json in
                json.field("user_id", answer.userID.text)
                json.field("previous", answer.previous.rawValue)
            }
        case .changePassword(let id):
            let password = try AccountRequest.password(request.body)
            let answer = try known(
                await accounts.changePassword(of: .id(id), to: password, by: who)
            )
            return Self.ended(answer.userID, answer.sessionsEnded)
        case .changeTOTP(let id):
            let enabled = try AccountRequest.totp(request.body)
            let answer = try known(
                await accounts.changeTOTP(of: .id(id), enabled: enabled, by: who)
            )
            return JSONReply.data { json in
                json.field("user_id", answer.userID.text)
                if let uri = answer.uri { json.field("uri", uri.text) }
            }
        case .deleteUser(let id):
            let answer = try known(await accounts.delete(.id(id), by: who))
            return Self.ended(answer.userID, answer.sessionsEnded)
        case .pairUser(let id):
            try requireEmpty(request.body)
            let (code, end) = try known(await accounts.pair(.id(id), by: who))
            return pairingCode(code, end)
        default: throw RequestProblem.notFound
        }
    }

    func pairingCode(_ code: Password, _ end: UnixSeconds) -> HTTPResponse {
        JSONReply.data { json in
            json.field("code", code.text)
            json.field("server_url", parts.serverURL())
            json.field("expires_at", end.seconds)
        }
    }

    private func known<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw RequestProblem.notFound }
        return value
    }

    private static func ended(_ id: UserID, _ sessions: Int64) -> HTTPResponse {
        JSONReply.data { json in
            json.field("user_id", id.text)
            json.field("sessions_ended", sessions)
        }
    }

    private static func list(_ answer: UserListAnswer) -> HTTPResponse {
        JSONReply.data { json in
            json.key("users")
            json.array { json in
                for user in answer.users {
                    json.object { json in
                        json.field("user_id", user.userID.text)
                        json.field("username", user.username)
                        json.field("role", user.role.rawValue)
                        json.field("created_at", user.createdAt.seconds)
                        json.field("devices", user.devices)
                        json.key("totp")
                        json.value(user.totp)
                    }
                }
            }
            json.key("more")
            json.value(answer.more)
        }
    }
}
