import Bus
import Contracts
import RegistrationCore
import ServiceKit

/// What an operator does with accounts and with the store.
extension RegistrationBus {
    func answerUsers(_ routes: inout BusRoutes) {
        routes.answer(UserAdd.self) { (request, context) throws(Reject) in
            try await guarded { try await accounts.add(request, by: who(context)) }
        }
        routes.answer(UserList.self) { (request, _) throws(Reject) in
            try await guarded { try await accounts.list(request) }
        }
        routes.answer(UserRoleChange.self) { (request, context) throws(Reject) in
            try await known {
                try await accounts.changeRole(
                    of: .username(request.username),
                    to: request.role,
                    by: who(context)
                )
            }
        }
        routes.answer(UserPasswordChange.self) { (request, context) throws(Reject) in
            try await known {
                try await accounts.changePassword(
                    of: .username(request.username),
                    to: request.password,
                    by: who(context)
                )
            }
        }
        routes.answer(UserTOTPChange.self) { (request, context) throws(Reject) in
            try await known {
                try await accounts.changeTOTP(
                    of: .username(request.username),
                    enabled: request.enabled,
                    by: who(context)
                )
            }
        }
        routes.answer(UserDelete.self) { (request, context) throws(Reject) in
            try await known {
                try await accounts.delete(.username(request.username), by: who(context))
            }
        }
        routes.answer(PairingCreate.self) { (request, context) throws(Reject) in
            let (code, end) = try await known {
                try await accounts.pair(.username(request.username), by: who(context))
            }
            return PairingCreateAnswer(code: code, serverURL: serverURL(), expiresAt: end)
        }
    }

    func answerStore(_ routes: inout BusRoutes) {
        routes.answer(RegistrationBackup.self) { (request, context) throws(Reject) in
            let bytes = try await guarded { try await store.backup(to: request.path) }
            note("backup", context, ["bytes": .int(bytes)])
            return RegistrationBackupAnswer(bytes: bytes)
        }
        routes.answer(RegistrationRenewal.self) { (_, context) throws(Reject) in
            let ended = try await guarded {
                try await store.begin(generation: store.generation().number, anew: true)
            }
            note("renewed", context, ["sessions_ended": .int(ended)])
            return RegistrationRenewalAnswer(sessionsEnded: Int64(ended))
        }
        routes.answer(MasterKeyRotate.self) { (request, context) throws(Reject) in
            if request.begin, rotation.begin() { note("master key", context) }
            let progress = rotation.progress
            return MasterKeyRotateAnswer(
                running: progress.isRunning,
                resealed: progress.resealed,
                unreadable: progress.unreadable,
                trouble: progress.trouble
            )
        }
    }

    private func note(
        _ change: String,
        _ context: BusContext,
        _ details: [String: LogValue] = [:]
    ) {
        var fields = details
        fields["change"] = .string(change)
        fields["by"] = .text(who(context))
        self.context.log.info("store administered", fields)
    }

    private func who(_ context: BusContext) -> AccountDesk.Administrator {
        .principal(context.peer.principal)
    }

    /// The same with a refusal where there is no such account.
    private func known<Value>(
        _ body: () async throws -> Value?
    ) async throws(Reject) -> Value {
        guard let value = try await guarded(body) else {
            throw Reject(.failed, "There is no account of that name; add it first.")
        }
        return value
    }
}
