import Bus
import Contracts
import RegistrationCore
import ServiceKit

/// What an operator does with accounts.
extension RegistrationBus {
    func answerUsers(_ routes: inout BusRoutes) {
        routes.answer(UserList.self) { (request, _) throws(Reject) in
            try await guarded { try await list(request) }
        }
        routes.answer(UserRoleChange.self) { (request, _) throws(Reject) in
            try await guarded { try await changeRole(request) }
        }
        routes.answer(UserPasswordChange.self) { (request, _) throws(Reject) in
            try await guarded {
                guard let (id, ended) = try await desk.changePassword(request) else {
                    throw Self.unknownAccount
                }
                return UserPasswordChangeAnswer(userID: id, sessionsEnded: Int64(ended))
            }
        }
        routes.answer(UserTOTPChange.self) { (request, _) throws(Reject) in
            try await guarded {
                guard let (id, uri) = try await desk.changeTOTP(request) else {
                    throw Self.unknownAccount
                }
                return UserTOTPChangeAnswer(userID: id, uri: uri)
            }
        }
        routes.answer(UserDelete.self) { (request, _) throws(Reject) in
            try await guarded {
                let gone = try await store.deleteAccount(.username(request.username))
                guard let (id, ended) = gone else { throw Self.unknownAccount }
                return UserDeleteAnswer(userID: id, sessionsEnded: Int64(ended))
            }
        }
    }

    private func list(_ request: UserList) async throws -> UserListAnswer {
        let (accounts, more) = try await store.accounts(
            after: request.after,
            limit: request.limit,
            now: context.time.wall.second
        )
        let users = accounts.map { summary in
            UserListAnswer.User(
                userID: summary.account.id,
                username: summary.account.username,
                role: summary.account.role,
                createdAt: summary.createdAt,
                devices: summary.devices,
                totp: summary.totp
            )
        }
        return UserListAnswer(users: users, more: more)
    }

    private func changeRole(_ request: UserRoleChange) async throws -> UserRoleChangeAnswer {
        let changed = try await store.changeRole(
            of: .username(request.username),
            to: request.role
        )
        guard let (id, previous) = changed else { throw Self.unknownAccount }
        return UserRoleChangeAnswer(userID: id, previous: previous)
    }
}
