import Contracts
import FoundationEssentials
import Glibc
import HTTPClient
import Testing
import Topology

/// The real phone against the real Registration: leaving logins behind and finding lost ones.
@Suite("The phone and Registration", .serialized)
struct PhoneTests {
    @Test("a phone signs out while the server is down, and the session ends when it is back")
    func offline() async throws {
        try await PhoneWorld.run { world in
            _ = try await world.account("alice")
            let login = try await world.phone(
                "a",
                "login",
                "--pair-file",
                world.link(for: "alice"),
                "--installation",
                "phone-a"
            )
            #expect(login.code == 0, "\(login.text)")
            #expect(login.line("signed_in") != nil)
            var status = stat()
            #expect(stat("\(world.directory("a"))/state.json", &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600)
            let before = try await world.phone("a", "status")
            #expect(before.line("status")?["has_proof"] == .bool(true), "\(before.text)")

            let settings = try await world.phone("a", "settings", "--enable", "alerts")
            #expect(settings.code == 0, "\(settings.text)")
            let words = settings.lines.compactMap { $0["event"]?.string }
            #expect(words.first == "disclosure")
            #expect(settings.line("status")?["enabled"] == .bool(true))
            #expect(settings.line("status")?["permission"] == .string("granted"))

            await world.stopServer()
            let logout = try await world.phone("a", "logout")
            #expect(logout.code == 0, "\(logout.text)")
            #expect(logout.line("signed_out")?["pending"] == .bool(true))
            #expect(access("\(world.directory("a"))/keys.json", F_OK) != 0)
            #expect(access("\(world.directory("a"))/recipient.json", F_OK) != 0)
            #expect(try world.state("a")["login"] == nil)
            let away = try await world.phone("a", "status")
            #expect(away.line("status")?["account"] == .string("signed_out"))
            #expect(away.line("status")?["waiting_cleanups"] == .integer(1))
            for choice in [["--enable", "alerts"], ["--disable"]] {
                let nobody = try await world.finish(
                    world.start("a", ["settings"] + choice)
                )
                #expect(nobody.code == 1, "\(nobody.text)")
            }

            try await world.startServer()
            _ = try await world.phone("b", "login", "--pair-file", world.link(for: "alice"))
            #expect(try await world.phone("b", "devices").lines.count == 2)
            let back = try await world.phone("a", "status")
            #expect(back.line("status")?["waiting_cleanups"] == .integer(0), "\(back.text)")
            #expect(try await world.phone("b", "devices").lines.count == 1)
            let again = try await world.phone("a", "login", "--pair-file", world.link(for: "alice"))
            #expect(again.code == 0, "\(again.text)")
        }
    }

    @Test("clean-up comes before the next account's login, and a kill in between loses nothing")
    func killed() async throws {
        try await PhoneWorld.run { world in
            let alice = try await world.account("alice")
            let bob = try await world.account("bob")
            for (name, account) in [("alice", alice), ("bob", bob)] {
                let login = try await world.phone(
                    "a",
                    "login",
                    "--server",
                    world.server,
                    "--login",
                    name,
                    "--password-file",
                    account.file
                )
                #expect(login.code == 0, "\(login.text)")
                _ = try await world.phone("a", "settings", "--enable", "alerts")
                // The server takes requests and never answers: the phone is killed while it waits.
                await world.proxy.set { $0.swallowsAnswers = true }
                let logout = try world.start("a", ["logout"])
                while try world.state("a")["login"] != nil {
                    try Task.checkCancellation()
                    await Task.yield()
                }
                _ = await world.world.running.supervisor.kill(logout)
                await world.proxy.set { $0.swallowsAnswers = false }
                await world.proxy.dropConnections()
            }
            let status = try await world.phone("a", "status")
            #expect(status.line("status")?["waiting_cleanups"] == .integer(0), "\(status.text)")
            for (name, account) in [("alice", alice), ("bob", bob)] {
                _ = try await world.phone(
                    "b",
                    "login",
                    "--server",
                    world.server,
                    "--login",
                    name,
                    "--password-file",
                    account.file
                )
                #expect(try await world.phone("b", "devices").lines.count == 1)
                _ = try await world.phone("b", "logout")
            }
        }
    }

    @Test("a login that the server refuses without a proof is recovered by its own account alone")
    func recovery() async throws {
        try await PhoneWorld.run { world in
            let alice = try await world.account("alice")
            let bob = try await world.account("bob")
            _ = try await world.phone(
                "a",
                "login",
                "--pair-file",
                world.link(for: "alice"),
                "--installation",
                "phone-a"
            )
            let session = try await lose(world)
            for _ in 0..<2 {
                let status = try await world.phone("a", "status")
                #expect(status.line("status")?["account"] == .string("lost"), "\(status.text)")
                #expect(
                    status.line("status")?["actions"] == .array([.string("recover_session")])
                )
            }
            let refused = try await world.phone("a", "login", "--pair-file", world.link(for: "bob"))
            #expect(refused.code == 1)
            #expect(refused.text.contains("recover_session"))
            #expect(try await world.phone("a", "devices").code == 1)

            let stranger = try await world.phone(
                "a",
                "recover",
                "--login",
                "bob",
                "--password-file",
                bob.file,
                "--select",
                session
            )
            #expect(stranger.code == 1)
            #expect(stranger.text.contains("other_account"))
            let list = try await world.phone(
                "a",
                "recover",
                "--login",
                "alice",
                "--password-file",
                alice.file
            )
            #expect(list.code == 1)
            #expect(list.line("session")?["session_id"] == .string(session))
            #expect(try world.state("a")["lost"] != nil)

            let recovered = try await world.phone(
                "a",
                "recover",
                "--login",
                "alice",
                "--password-file",
                alice.file,
                "--select",
                session
            )
            #expect(recovered.code == 0, "\(recovered.text)")
            #expect(recovered.line("recovered") != nil)
            let login = try await world.phone("a", "login", "--pair-file", world.link(for: "bob"))
            #expect(login.code == 0, "\(login.text)")
        }
    }

    /// Takes the proof away from the phone and uses its refresh token elsewhere.
    private func lose(_ world: PhoneWorld) async throws -> String {
        let path = "\(world.directory("a"))/state.json"
        guard
            var state = try world.state("a").object,
            var login = state["login"]?.object,
            let session = login["session"]?["session_id"]?.string,
            let refresh = login["session"]?["tokens"]?["refresh"]?.string
        else { throw SystemTestFailure("the phone has no login") }
        login["proof"] = nil
        state["login"] = .object(login)
        try Data(try JSONValue.object(state).canonicalBytes()).write(to: URL(filePath: path))
        let reply = try await world.world.http.send(
            HTTPClientRequest(
                method: "POST",
                url: "\(world.server)/api/mobile/auth/refresh",
                headers: [("Content-Type", "application/json")],
                body: try JSONValue.object(["refresh_token": .string(refresh)]).canonicalBytes()
            )
        )
        #expect(reply.status == 200)
        return session
    }
}
