import Contracts
import TestKit
import Testing

/// Settings and registration over real HTTP.
@Suite(.timeLimit(.minutes(2)))
struct PushSettingsTests {
    @Test func followsTheContract() async throws {
        try await RegistrationWorld.run { world in
            try await world.addUser("alice", role: .admin)
            let phone = try await world.login("alice", "phone-1")
            let fresh = try await phone.settings()
            #expect(fresh.revision == 0)
            #expect(fresh.flag("registered") == false)
            #expect(fresh.flag("security_allowed") == true)
            #expect(fresh.flag("tasks_allowed") == true)
            #expect(fresh.flag("task_failure_available") == true)
            #expect(fresh.flag("delivery_available") == false)
            #expect(fresh.string("delivery_unavailable_reason") == "not_enabled")
            #expect(try await phone.register(revision: 0).code == "not_enabled")
            let saved = try await phone.save(revision: 0, "enabled", "alerts", "security")
            #expect(saved.revision == 1)
            #expect(saved["preferences"]?["security"] == .bool(true))
            #expect(try await phone.save(revision: 0, "enabled").code == "stale_revision")
            #expect(try await phone.register(revision: 0).code == "stale_revision")
            let registered = try await phone.register(revision: 1)
            #expect(registered.revision == 2)
            #expect(registered.flag("registered") == true)
            #expect(registered.flag("delivery_available") == true)
            #expect(registered.flag("test_available") == true)
            let disabled = try await phone.save(revision: 2, "alerts")
            #expect(disabled.flag("registered") == false)
            #expect(try await phone.recipient() == nil)
        }
    }

    @Test func saysWhatTheServerKnowsAndNothingElse() async throws {
        try await RegistrationWorld.run { world in
            let members: Set = [
                "revision", "preferences", "security_allowed", "tasks_allowed",
                "task_failure_available", "registered", "delivery_available", "test_available",
            ]
            try await world.addUser("alice")
            let phone = try await world.login("alice", "p")
            let off = try await phone.settings()
            #expect(off.members == members.union(["delivery_unavailable_reason"]))
            _ = try await phone.save(revision: 0, "enabled", "alerts")
            _ = try await phone.register(revision: 1)
            // What the phone permits is not among them.
            #expect(try await phone.settings().members == members)
        }
    }

    @Test func limitsMembers() async throws {
        try await RegistrationWorld.run { world in
            try await world.addUser("bob")
            let phone = try await world.login("bob", "phone-1")
            #expect(try await phone.settings().flag("security_allowed") == false)
            for name in ["security", "task_failure", "task_success"] {
                let reply = try await phone.save(revision: 0, "enabled", name)
                #expect(reply.status == 403)
                #expect(reply.code == "forbidden_category")
            }
        }
    }

    @Test func aTokenBelongsToOneInstallation() async throws {
        try await RegistrationWorld.run { world in
            let alice = try await world.registeredPhone("alice", token: "aa11")
            let bob = try await world.registeredPhone("bob", token: "aa11")
            #expect(try await alice.recipient() == nil)
            #expect(try await alice.settings().flag("registered") == false)
            #expect(try await bob.recipient() != nil)
            let revision = try #require(try await alice.settings().revision)
            let elsewhere = try await alice.register(
                revision: revision,
                token: "aa11",
                environment: "production"
            )
            #expect(elsewhere.status == 200)
            #expect(try await bob.recipient() != nil)
        }
    }

    @Test func refusesAnotherDeployment() async throws {
        try await RegistrationWorld.run { world in
            let phone = try await world.registeredPhone("alice")
            let reply = try await phone.register(
                revision: 2,
                deployment: "https://other.example.org"
            )
            #expect(reply.code == "wrong_deployment")
        }
    }

    @Test func answersWrongRequestsClearly() async throws {
        try await RegistrationWorld.run { world in
            let gone = try await world.call("POST", "/push/register", "{}")
            #expect(gone.status == 410)
            #expect(gone.code == "gone")
            #expect(gone.text.contains("Use /api/mobile/push/encrypted-register."))
            let allowed = try await world.call("GET", "/push/register").headers["allow"]
            #expect(allowed == "POST")
            // A zero byte ends no path: this is not the device "x".
            #expect(try await world.call("DELETE", "/devices/x%00/y", token: "t").status == 404)
            #expect(try await world.call("GET", "/elsewhere").status == 404)
            let method = try await world.call("DELETE", "/push/settings")
            #expect(method.status == 405)
            #expect(method.headers["allow"] == "GET, PUT")
            let media = try await world.call("POST", "/auth/login")
            #expect(media.status == 415)
            let broken = try await world.call("POST", "/auth/login", "{\"username\":")
            #expect(broken.code == "invalid_request")
            let long = String(repeating: "x", count: 9000)
            let large = try await world.call("POST", "/auth/login", "{\"username\":\"\(long)\"}")
            #expect(large.status == 413)
            #expect(large.code == "request_too_large")
        }
    }
}
