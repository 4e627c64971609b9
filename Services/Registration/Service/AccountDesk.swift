import Contracts
import PushBusCrypto
import RegistrationCore
import ServiceKit

/// Administers accounts, for operators on the bus and administrators over HTTP alike, and notes in the
/// log who did what. Nil answers say that there is no such account.
package struct AccountDesk: Sendable {
    /// Who administers.
    package enum Administrator: Sendable, CustomStringConvertible {
        /// A peer of the bus.
        case principal(String)
        /// A signed-in account of role admin.
        case account(Caller)

        package var description: String {
            switch self {
            case .principal(let name): "principal \(name)"
            case .account(let caller): "account \(caller.session.userID.text)"
            }
        }

        /// Whose session has to stand for the change; an operator needs none.
        var caller: Caller? {
            switch self {
            case .principal: nil
            case .account(let caller): caller
            }
        }
    }

    private let store: any RegistrationStore
    private let sessions: SessionDesk
    private let time: any TimeSource
    private let log: Log

    package init(
        store: any RegistrationStore,
        sessions: SessionDesk,
        time: any TimeSource,
        log: Log
    ) {
        self.store = store
        self.sessions = sessions
        self.time = time
        self.log = log
    }

    package func list(_ page: UserList) async throws -> UserListAnswer {
        let (accounts, more) = try await store.accounts(
            after: page.after,
            limit: page.limit,
            now: time.wall.second
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

    package func add(_ request: UserAdd, by who: Administrator) async throws -> UserAddAnswer {
        let (id, added) = try await sessions.addAccount(request, by: who.caller)
        if added { note("added", id, who, ["role": .string(request.role.rawValue)]) }
        return UserAddAnswer(userID: id, added: added)
    }

    package func changeRole(
        of account: AccountName,
        to role: Role,
        by who: Administrator
    ) async throws -> UserRoleChangeAnswer? {
        let changed = try await store.changeRole(
            of: account,
            to: role,
            by: who.caller,
            now: time.wall.second
        )
        guard let (id, previous) = changed else { return nil }
        note(
            "role",
            id,
            who,
            ["role": .string(role.rawValue), "previous": .string(previous.rawValue)]
        )
        return UserRoleChangeAnswer(userID: id, previous: previous)
    }

    package func changePassword(
        of account: AccountName,
        to password: Password,
        by who: Administrator
    ) async throws -> UserPasswordChangeAnswer? {
        let changed = try await sessions.changePassword(
            of: account,
            to: password,
            by: who.caller
        )
        guard let (id, ended) = changed else { return nil }
        note("password", id, who, ["sessions_ended": .int(ended)])
        return UserPasswordChangeAnswer(userID: id, sessionsEnded: Int64(ended))
    }

    package func changeTOTP(
        of account: AccountName,
        enabled: Bool,
        by who: Administrator
    ) async throws -> UserTOTPChangeAnswer? {
        let changed = try await sessions.changeTOTP(
            of: account,
            enabled: enabled,
            by: who.caller
        )
        guard let (id, uri) = changed else { return nil }
        note("totp", id, who, ["enabled": .bool(enabled)])
        return UserTOTPChangeAnswer(userID: id, uri: uri)
    }

    package func delete(
        _ account: AccountName,
        by who: Administrator
    ) async throws -> UserDeleteAnswer? {
        let gone = try await store.deleteAccount(
            account,
            by: who.caller,
            now: time.wall.second
        )
        guard let (id, ended) = gone else { return nil }
        note("deleted", id, who, ["sessions_ended": .int(ended)])
        return UserDeleteAnswer(userID: id, sessionsEnded: Int64(ended))
    }

    /// A code that signs a phone of the account in once. An operator on the bus gets as many as it asks
    /// for.
    package func pair(
        _ account: AccountName,
        by who: Administrator
    ) async throws -> (code: Password, expiresAt: UnixSeconds)? {
        guard let known = try await store.account(account)?.account else { return nil }
        let made =
            switch who {
            case .principal: try await sessions.makePairingCode(for: .id(known.id), by: nil)
            case .account(let caller):
                try await sessions.makeCountedPairingCode(for: known.id, by: caller)
            }
        guard let (code, end) = made else { return nil }
        note("pairing code", known.id, who)
        return (code, end)
    }

    private func note(
        _ change: String,
        _ user: UserID,
        _ who: Administrator,
        _ details: [String: LogValue] = [:]
    ) {
        var fields = details
        fields["change"] = .string(change)
        fields["user"] = .text(user)
        fields["by"] = .text(who)
        log.info("account administered", fields)
    }
}
