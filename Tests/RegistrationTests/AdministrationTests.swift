import Contracts
import TestKit
import Testing

/// What an administrator does with accounts over real HTTP.
@Suite(.timeLimit(.minutes(2)))
struct AdministrationTests {
    private static let users = "/admin/users"

    private static func addition(
        _ name: String,
        password: String = "battery staple",
        role: String = "member"
    ) -> String {
        "{\"username\":\"\(name)\",\"password\":\"\(password)\",\"role\":\"\(role)\"}"
    }

    private func admin(_ world: RegistrationWorld) async throws -> Phone {
        try await world.addUser("root", role: .admin)
        return try await world.login("root", "phone-of-root")
    }

    @Test func addsListsAndDeletesAccounts() async throws {
        try await RegistrationWorld.run { world in
            let root = try await admin(world)
            let added = try await root.call("POST", Self.users, Self.addition("bob"))
            #expect(added.status == 200)
            let id = added.string("user_id")
            let again = try await root.call("POST", Self.users, Self.addition("bob"))
            #expect(again.status == 409)
            #expect(again.code == "account_exists")
            #expect(try await world.tryLogin("bob", password: "battery staple").status == 200)
            let list = try await root.call("GET", Self.users)
            guard case .array(let users)? = list["users"] else {
                Issue.record("no list")
                return
            }
            #expect(users.map { $0["username"]?.string } == ["bob", "root"])
            #expect(users[0]["user_id"]?.string == id)
            #expect(users[0]["role"]?.string == "member")
            #expect(users[0]["devices"]?.integer == 1)
            #expect(users[0]["totp"] == .bool(false))
            #expect(list.flag("more") == false)
            let page = try await root.call("GET", Self.users + "?limit=1")
            #expect(page.flag("more") == true)
            let rest = try await root.call("GET", Self.users + "?limit=1&after=bob")
            #expect(rest.text.contains("root"))
            for query in ["limit=0", "limit=513", "limit=x", "after=", "order=role"] {
                #expect(try await root.call("GET", Self.users + "?" + query).status == 400)
            }
            let gone = try await root.call("DELETE", "\(Self.users)/\(id)")
            #expect(gone["sessions_ended"] == .integer(1))
            #expect(try await root.call("DELETE", "\(Self.users)/\(id)").status == 404)
        }
    }

    @Test func changesRolePasswordAndOneTimeCodes() async throws {
        try await RegistrationWorld.run { world in
            let root = try await admin(world)
            let phone = try await world.registeredPhone("bob")
            let bob = "\(Self.users)/\(phone.session.string("user_id"))"
            let role = try await root.call("PUT", bob + "/role", "{\"role\":\"admin\"}")
            #expect(role.string("previous") == "member")
            #expect(try await phone.settings().flag("security_allowed") == true)
            let on = try await root.call("PUT", bob + "/totp", "{\"enabled\":true}")
            #expect(on.string("uri").hasPrefix("otpauth://totp/PushBus:bob?secret="))
            #expect(
                try await world.tryLogin("bob", password: "correct horse").code
                    == "one_time_code_required"
            )
            let off = try await root.call("PUT", bob + "/totp", "{\"enabled\":false}")
            #expect(off.status == 200)
            #expect(off["uri"] == nil)
            let code = try await root.call("POST", bob + "/pairing-code")
            #expect(code.string("server_url").hasPrefix("http://127.0.0.1:"))
            let body = """
                {"code":"\(code.string("code"))","installation_id":"tablet","device_name":"n"}
                """
            #expect(try await world.call("POST", "/auth/pair", body).status == 200)
            let changed = try await root.call(
                "PUT",
                bob + "/password",
                "{\"password\":\"another horse\"}"
            )
            #expect(changed["sessions_ended"] == .integer(2))
            #expect(try await phone.settings().status == 401)
            #expect(try await world.tryLogin("bob", password: "another horse").status == 200)
            for path in ["/role", "/totp", "/password", "/pairing-code"] {
                let method = path == "/pairing-code" ? "POST" : "PUT"
                let bodies = [
                    "/role": "{\"role\":\"member\"}", "/totp": "{\"enabled\":true}",
                    "/password": "{\"password\":\"another horse\"}",
                ]
                let unknown = try await root.call(
                    method,
                    "\(Self.users)/nobody\(path)",
                    bodies[path]
                )
                #expect(unknown.status == 404)
                let wrong = try await root.call(method, bob + path, "{\"unknown\":1}")
                #expect(wrong.status == 400)
            }
        }
    }

    @Test func isForAdministratorsOnly() async throws {
        try await RegistrationWorld.run { world in
            let root = try await admin(world)
            let member = try await world.registeredPhone("bob")
            let id = root.session.string("user_id")
            let attempts: [(String, String, String?)] = [
                ("GET", "", nil), ("POST", "", Self.addition("eve", role: "admin")),
                ("PUT", "/\(id)/role", "{\"role\":\"member\"}"),
                ("PUT", "/\(id)/password", "{\"password\":\"another horse\"}"),
                ("PUT", "/\(id)/totp", "{\"enabled\":false}"),
                ("POST", "/\(id)/pairing-code", nil), ("DELETE", "/\(id)", nil),
            ]
            for (method, path, body) in attempts {
                let refused = try await member.call(method, Self.users + path, body)
                #expect(refused.code == "administrators_only", "\(method) \(path)")
                let stranger = try await world.call(method, Self.users + path, body)
                #expect(stranger.status == 401)
            }
            #expect(try await root.settings().status == 200)
            #expect(try await world.ask(UserList()).users.map(\.username) == ["bob", "root"])
            // From the commit of a demotion on nothing is left.
            _ = try await world.ask(UserRoleChange(username: "root", role: .member))
            #expect(try await root.call("GET", Self.users).code == "administrators_only")
        }
    }

    @Test func refusesBadNamesAndPasswords() async throws {
        try await RegistrationWorld.run { world in
            let root = try await admin(world)
            for body in [
                Self.addition("a b"), Self.addition(""), Self.addition("eve", password: "short"),
                Self.addition("eve", role: "owner"), "{\"username\":\"eve\"}", "[]",
            ] {
                let refused = try await root.call("POST", Self.users, body)
                #expect(refused.code == "invalid_request")
                #expect(!refused.text.contains("short"))
            }
            #expect(try await world.ask(UserList()).users.map(\.username) == ["root"])
        }
    }

    @Test func theLogSaysWhoDidWhat() async throws {
        try await RegistrationWorld.run { world in
            let root = try await admin(world)
            let who = root.session.string("user_id")
            let added = try await root.call("POST", Self.users, Self.addition("bob"))
            let bob = added.string("user_id")
            _ = try await root.call("PUT", "\(Self.users)/\(bob)/role", "{\"role\":\"admin\"}")
            _ = try await world.ask(UserDelete(username: "bob"))
            let lines = world.logs.lines(of: "account administered")
            func has(_ change: String, by: String, of user: String) -> Bool {
                lines.contains { line in
                    ["\"change\":\"\(change)\"", "\"by\":\"\(by)\"", "\"user\":\"\(user)\""]
                        .allSatisfy { line.contains($0) }
                }
            }
            #expect(has("added", by: "principal local", of: who))
            #expect(has("added", by: "account \(who)", of: bob))
            #expect(has("role", by: "account \(who)", of: bob))
            #expect(has("deleted", by: "principal local", of: bob))
        }
    }
}

extension Phone {
    func call(_ method: String, _ path: String, _ body: String? = nil) async throws -> Reply {
        try await world.call(method, path, body, token: accessToken)
    }
}
