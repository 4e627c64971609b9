import Contracts
import PushBusCrypto
import RegistrationCore
import TestKit
import Testing

/// The acceptance matrix: writes that fail, race or come from another account.
extension AcceptanceMatrixTests {
    @Test("failed preference updates")
    func aFailedUpdateChangesNothing() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("bob")
            let queued = try await phone.queued()
            let before = try await phone.settings()
            let members = """
                "alerts":false,"security":false,"task_failure":false,"task_success":false
                """
            for (body, status) in [
                ("{\"expected_revision\":2}", 400),
                ("{\"expected_revision\":2,\"preferences\":{\(members)}}", 400),
                ("{\"expected_revision\":2,\"preferences\":{\"enabled\":1,\(members)}}", 400),
                (
                    "{\"expected_revision\":2,\"preferences\":"
                        + "{\"enabled\":true,\"sms\":true,\(members)}}",
                    400
                ),
                (
                    "{\"expected_revision\":1,\"preferences\":{\"enabled\":true,\(members)}}",
                    409
                ),
                ("{\"expected_revision\":2,", 400),
            ] {
                let reply = try await phone.call("PUT", "/push/settings", body)
                #expect(reply.status == status, "\(body)")
            }
            #expect(try await phone.save(revision: 2, "enabled", "security").status == 403)
            #expect(try await phone.settings().text == before.text)
            #expect(try await queued.verdict() == nil)
            #expect(try await world.watermark() == queued.watermark)
        }
    }

    @Test("stale revisions")
    func staleWritesAreRefused() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice")
            for stale in [0, 1, 3, 1 << 40] as [Int64] {
                #expect(try await phone.save(revision: stale, "enabled").code == "stale_revision")
                let refused = try await phone.register(revision: stale, token: "bb22")
                #expect(refused.status == 409)
                #expect(refused.code == "stale_revision")
            }
            #expect(try await phone.queued().verdict() == nil)
            #expect(try await phone.settings().revision == 2)
        }
    }

    /// What a hundred clients do at once with one and the same right to do it.
    enum Race: String, CaseIterable {
        case save, register, refresh, pair
    }

    @Test("concurrent revisions: of 100 parallel writers one wins", arguments: Race.allCases)
    func oneOfAHundredWritersWins(_ race: Race) async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice")
            let code = try await world.ask(PairingCreate(username: "alice")).code.text
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<100 {
                    group.addTask {
                        switch race {
                        case .save: try await phone.save(revision: 2, "enabled").status
                        case .register:
                            try await phone.register(revision: 2, token: "bb\(100 + number)0")
                                .status
                        case .refresh: try await phone.refresh().status
                        case .pair:
                            try await world.call(
                                "POST",
                                "/auth/pair",
                                """
                                {"code":"\(code)","installation_id":"p\(number)",\
                                "device_name":"n"}
                                """
                            ).status
                        }
                    }
                }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(statuses.count { $0 == 200 } == 1)
            let losers = statuses.filter { $0 != 200 }
            switch race {
            case .save, .register:
                #expect(losers.allSatisfy { $0 == 409 })
                #expect(try await phone.settings().revision == 3)
            case .refresh, .pair:
                // Who loses has an unknown token or code, until the source is held back.
                #expect(losers.allSatisfy { $0 == 401 || $0 == 429 })
            }
        }
    }

    @Test("clean-up races")
    func aCleanUpNeverTakesANewerRegistration() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice", token: "aa0100")
            for round in 1...20 {
                let queued = try await phone.queued()
                let old = "aa0\(99 + round)"
                let new = "aa0\(100 + round)"
                let revision = try #require(try await phone.settings().revision)
                let item = RegistrationCleanup.Item(
                    installationID: InstallationID(phone.installation),
                    binding: queued.binding,
                    tokenHash: Blob(SHA256.hash(Array(old.utf8))),
                    kind: .dead,
                    apnsTimestamp: world.time.wall.adding(milliseconds: 1),
                    confirmedAt: world.time.wall
                )
                let cleanup = RegistrationCleanup(
                    processID: "delivery-1",
                    totals: [:],
                    items: [item]
                )
                async let cleaned = world.ask(cleanup).results
                async let registered = phone.register(revision: revision, token: new)
                let (results, reply) = try await (cleaned, registered)
                if reply.status == 409 {
                    // The clean-up was first; the phone reads again and registers.
                    #expect(results == [.applied])
                    #expect(reply.code == "stale_revision")
                    let again = try #require(try await phone.settings().revision)
                    #expect(try await phone.register(revision: again, token: new).status == 200)
                } else {
                    #expect(reply.status == 200)
                    #expect(results == [.stale])
                }
                // A repeat of the clean-up, as after a lost answer, finds nothing of its own.
                #expect(try await world.ask(cleanup).results == [.stale])
                #expect(try await queued.verdict() == .replaced)
                #expect(try await phone.queued().verdict() == nil)
            }
        }
    }

    @Test("token reuse: two installations on one device token, the newer wins")
    func theNewerInstallationOfATokenWins() async throws {
        try await RegistrationWorld.run { world in
            let old = try await world.registeredPhone("alice", token: "aa11")
            let queued = try await old.queued()
            // A reinstalled app is another installation; the provider may give it the same token.
            let new = try await world.login("alice", "reinstalled")
            _ = try await new.save(revision: 0, "enabled", "alerts")
            #expect(try await new.register(revision: 1, token: "aa11").status == 200)
            #expect(try await queued.verdict() == .notRegistered)
            #expect(
                try await world.audience().recipients.map(\.installationID.text) == ["reinstalled"]
            )
            let settings = try await old.settings()
            #expect(settings.string("delivery_unavailable_reason") == "not_registered")
            // The old one, should it live on, takes the token back by registering.
            let revision = try #require(settings.revision)
            #expect(try await old.register(revision: revision, token: "aa11").status == 200)
            #expect(try await new.settings().flag("registered") == false)
        }
    }

    @Test("token reuse: a reinstall with the old token still alive")
    func aReinstallLeavesTheOldTokenToItsInstallation() async throws {
        try await RegistrationWorld.run { world in
            let old = try await world.registeredPhone("alice", token: "aa11")
            let new = try await world.login("alice", "reinstalled")
            _ = try await new.save(revision: 0, "enabled", "alerts")
            #expect(try await new.register(revision: 1, token: "bb22").status == 200)
            #expect(try await world.audience().recipients.count == 2)
            // The provider calls the old token dead: only the old installation goes.
            let queued = try await old.queued()
            let item = RegistrationCleanup.Item(
                installationID: InstallationID(old.installation),
                binding: queued.binding,
                tokenHash: Blob(SHA256.hash(Array("aa11".utf8))),
                kind: .dead,
                apnsTimestamp: world.time.wall.adding(milliseconds: 1),
                confirmedAt: world.time.wall
            )
            let cleanup = RegistrationCleanup(processID: "d", totals: [:], items: [item])
            #expect(try await world.ask(cleanup).results == [.applied])
            #expect(
                try await world.audience().recipients.map(\.installationID.text) == ["reinstalled"]
            )
        }
    }

    @Test("token reuse: a consumed refresh token is refused by every API and can only revoke")
    func aConsumedRefreshTokenOpensNothing() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice", role: .admin)
            let used = phone.refreshToken
            let renewed = try await phone.refreshed()
            for endpoint in [
                ("GET", "/push/settings"), ("GET", "/devices"), ("GET", "/admin/users"),
                ("POST", "/auth/logout"), ("POST", "/auth/pairing-code"),
                ("GET", "/auth/recovery/sessions"),
            ] {
                let reply = try await world.call(endpoint.0, endpoint.1, token: used)
                #expect(reply.status == 401, "\(endpoint)")
            }
            let refresh = "{\"refresh_token\":\"\(used)\"}"
            #expect(try await world.call("POST", "/auth/refresh", refresh).status == 401)
            let id = phone.session.string("session_id")
            #expect(try await world.revoke(id, proof: used).status == 200)
            #expect(try await renewed.settings().status == 401)
        }
    }

    @Test("account switch")
    func accountsTakeTurnsWithoutInheriting() async throws {
        try await RegistrationWorld.run { world in
            let alice = try await world.registeredPhone("alice")
            let queued = try await alice.queued()
            try await world.addUser("bob")
            let bob = try await world.login("bob", alice.installation)
            // While Alice is signed in, Bob has nothing there and changes nothing.
            #expect(try await bob.save(revision: 2, "enabled").code == "owned_elsewhere")
            #expect(try await bob.register(revision: 2).status == 403)
            #expect(try await queued.verdict() == nil)
            _ = try await alice.logout()
            #expect(try await queued.verdict() == .notRegistered)
            let settings = try await bob.settings()
            #expect(settings["preferences"]?["alerts"] == .bool(false))
            let revision = try #require(settings.revision)
            _ = try await bob.save(revision: revision, "enabled", "alerts")
            #expect(try await bob.register(revision: revision + 1).status == 200)
            #expect(try await queued.verdict() == .replaced)
            #expect(try await bob.recipient()?.userID.text == bob.session.string("user_id"))
            let forBob = try await bob.queued()
            // And back: Alice finds nothing of hers and nothing of Bob's.
            _ = try await bob.logout()
            let again = try await world.login("alice", alice.installation)
            let view = try await again.settings()
            #expect(view["preferences"]?["alerts"] == .bool(false))
            let next = try #require(view.revision)
            _ = try await again.save(revision: next, "enabled", "alerts")
            #expect(try await again.register(revision: next + 1).status == 200)
            for message in [queued, forBob] { #expect(try await message.verdict() == .replaced) }
        }
    }

    @Test("a toggle during an outage loses nothing else")
    func aToggleFencesItsOwnCategoryOnly() async throws {
        // Neither EventIngest nor Delivery answers: messages wait.
        try await RegistrationWorld.run(withDelivery: false) { world in
            let phone = try await world.registeredPhone("alice", role: .admin)
            _ = try await phone.save(revision: 2, "enabled", "alerts", "security", "task_failure")
            let queued = try await phone.queued()
            _ = try await phone.save(revision: 3, "enabled", "alerts", "task_failure")
            #expect(try await queued.verdict(.security) == .unsubscribed)
            let back = try await phone.save(
                revision: 4,
                "enabled",
                "alerts",
                "security",
                "task_failure"
            )
            #expect(back.flag("registered") == true)
            // What was switched off and on again begins anew; all else goes out after the outage.
            #expect(try await queued.verdict(.security) == .subscribedLater)
            #expect(try await queued.verdict(.alert) == nil)
            #expect(try await queued.verdict(.taskFailure) == nil)
            #expect(try await queued.verdict(.test) == nil)
            #expect(try await phone.queued().binding == queued.binding)
            #expect(try await phone.queued().verdict(.security) == nil)
            // Saving the same again fences nothing either.
            _ = try await phone.save(revision: 5, "enabled", "alerts", "security", "task_failure")
            #expect(try await queued.verdict(.alert) == nil)
        }
    }
}
