import Bus
import Contracts
import RegistrationCore
import ServiceKit
import Storage

/// What Registration answers on the bus.
package struct RegistrationBus: Sendable {
    let store: any RegistrationStore
    let accounts: AccountDesk
    let rotation: MasterKeyRotation
    private let vault: ContentKeyVault
    /// Where phones reach this server, once that is known.
    let serverURL: @Sendable () -> String
    let context: ProcessContext

    package init(
        store: any RegistrationStore,
        accounts: AccountDesk,
        rotation: MasterKeyRotation,
        vault: ContentKeyVault,
        serverURL: @escaping @Sendable () -> String,
        context: ProcessContext
    ) {
        self.store = store
        self.accounts = accounts
        self.rotation = rotation
        self.vault = vault
        self.serverURL = serverURL
        self.context = context
    }

    package var routes: BusRoutes {
        var routes = BusRoutes()
        routes.answerStatus(of: context)
        routes.answer(AudienceOpen.self) { (_, _) throws(Reject) in
            AudienceOpenAnswer(watermark: try await guarded { try await store.watermark() })
        }
        routes.answer(AudiencePage.self) { (page, _) throws(Reject) in
            try await guarded { try await audience(page) }
        }
        routes.answer(EligibilityCheck.self) { (check, _) throws(Reject) in
            try await guarded { try await eligibility(check) }
        }
        routes.answer(RegistrationCleanup.self) { (cleanup, _) throws(Reject) in
            try await guarded { try await clean(cleanup) }
        }
        routes.answer(InstallationExplain.self) { (question, _) throws(Reject) in
            try await guarded { try await explain(question) }
        }
        answerUsers(&routes)
        answerStore(&routes)
        return routes
    }

    private func audience(_ page: AudiencePage) async throws -> AudiencePageAnswer {
        let found = try await store.audience(page, now: context.time.wall.second)
        var recipients: [AudiencePageAnswer.Recipient] = []
        var skipped: [String: Int64] = [:]
        for (installation, standing) in found.rows {
            let obstacle = Eligibility.obstacle(
                installation,
                standing,
                category: page.category,
                watermark: page.watermark,
                binding: nil
            )
            if let obstacle {
                skipped[obstacle.rawValue, default: 0] += 1
            } else if let recipient = recipient(installation, standing) {
                recipients.append(recipient)
            }
        }
        return AudiencePageAnswer(
            recipients: recipients,
            last: found.rows.last?.installation.id,
            more: found.more,
            skipped: skipped
        )
    }

    private func recipient(
        _ installation: Installation,
        _ standing: Eligibility.Standing
    ) -> AudiencePageAnswer.Recipient? {
        guard let registration = installation.registration, let userID = installation.userID,
            let role = standing.role
        else { return nil }
        return AudiencePageAnswer.Recipient(
            installationID: installation.id,
            userID: userID,
            deploymentID: registration.deploymentID,
            sessionID: registration.sessionID,
            role: role,
            binding: installation.binding,
            keyID: registration.keyID,
            contentKey: contentKey(of: registration, installation.id)
        )
    }

    /// Nil when the key was sealed under another master key: Fanout then ends that row alone.
    private func contentKey(
        of registration: DeviceRegistration,
        _ installation: InstallationID
    ) -> ContentKey? {
        let key = try? vault.open(
            registration.sealedKey,
            id: registration.keyID,
            of: installation
        )
        if key == nil {
            context.metrics.counter(
                "pushbus_registration_unreadable_keys_total",
                help: "Content keys that the master key does not open"
            ).add()
            context.log.error("content key unreadable", ["installation": .text(installation)])
        }
        return key
    }

    private func eligibility(_ check: EligibilityCheck) async throws -> EligibilityCheckAnswer {
        let verdicts = try await store.eligibility(check.checks, now: context.time.wall)
        let eligible = verdicts.count { if case .eligible = $0 { true } else { false } }
        let counter = { (verdict: String) in
            context.metrics.counter(
                "pushbus_registration_checks_total",
                help: "Eligibility checks by verdict",
                labels: ["verdict": verdict]
            )
        }
        counter("eligible").add(UInt64(eligible))
        counter("ineligible").add(UInt64(verdicts.count - eligible))
        return EligibilityCheckAnswer(verdicts: verdicts)
    }

    private func clean(_ cleanup: RegistrationCleanup) async throws -> RegistrationCleanupAnswer {
        let report = try await store.clean(cleanup, now: context.time.wall)
        for environment in APNsEnvironment.allCases {
            let gauge = context.metrics.gauge(
                "pushbus_registration_guard_stands",
                help: "1 while clean-up is held because too many devices seem to fail",
                labels: ["environment": environment.rawValue]
            )
            let stands = report.guarded.contains(environment)
            if stands, gauge.value == 0 {
                context.log.error(
                    "clean-up held: too many devices fail; check topic, key and environment",
                    ["environment": .string(environment.rawValue)]
                )
            }
            gauge.set(stands ? 1 : 0)
        }
        for result in CleanupResult.allCases {
            context.metrics.counter(
                "pushbus_registration_cleanups_total",
                help: "Clean-ups by result",
                labels: ["result": result.rawValue]
            ).add(UInt64(report.results.count { $0 == result }))
        }
        return RegistrationCleanupAnswer(results: report.results)
    }

    /// Turns what the store and the password thread throw into what a peer can act on.
    func guarded<Value>(
        _ body: () async throws -> Value
    ) async throws(Reject) -> Value {
        do {
            return try await body()
        } catch let reject as Reject {
            throw reject
        } catch is PasswordThread.Full {
            throw Reject(
                .retryAfter,
                "Too many passwords are being hashed.",
                retryAfterMilliseconds: 1000
            )
        } catch let failure as StorageError where failure.isRetriable {
            context.log.error("store failed", ["error": .error(failure)])
            throw Reject(
                .retryAfter,
                "The store does not take this now.",
                retryAfterMilliseconds: 1000
            )
        } catch let failure as StorageError
            where [.cannotOpen, .unsupported].contains(failure.kind)
        {
            // Of a backup: the message names the file, or the tool, and what to do.
            throw Reject(.failed, failure.message)
        } catch {
            context.log.error("bus request failed", ["error": .string("\(type(of: error))")])
            throw Reject(.failed, "Registration could not do this; see its log.")
        }
    }
}
