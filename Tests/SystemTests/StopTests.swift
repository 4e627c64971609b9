import Contracts
import FoundationEssentials
import Testing
import Topology

/// What ends a login, or takes something from it, stops what is queued from its commit on.
@Suite("What stops queued sends", .serialized)
struct StopTests {
    private static let endings = ["logout", "device", "proof", "password", "deletion"]

    @Test("logout, a revoked device, a proof, a password, a deletion and a role")
    func stops() async throws {
        try await World.run { world in
            let bystander = try await world.phone("bystander")
            let admin = try await world.phone("admin", role: .admin)
            try await admin.subscribe(security: true)
            var phones: [String: TestPhone] = [:]
            for name in Self.endings { phones[name] = try await world.phone(name) }

            _ = try await world.command([
                "rule", "security", "ssh", "--type", "ssh_brute_force_detected",
            ])
            // While the Relay is away, everything waits.
            let (names, supervisor) = (world.running.topology, world.running.supervisor)
            _ = await supervisor.stop(names.processName(of: .relay))
            let alert = try #require(try await world.publish([Alerts.triggered(1)]).first)
            let detection = try await world.publishDetection()
            try await world.waitForRows(Self.endings.count + 3, ended: false)
            // A new Delivery holds no answer of Registration from before.
            _ = await supervisor.stop(names.processName(of: .delivery))
            for (name, phone) in phones { try await Self.end(name, phone, world, admin) }
            _ = try await world.ask(
                .registration,
                UserRoleChange(username: "admin", role: .member)
            )
            for service in [PushBusService.relay, .delivery] {
                try supervisor.start(names.processName(of: service))
            }
            try await world.waitForRows(Self.endings.count + 3, ended: true)

            let history = History(world: world, phones: [])
            for (name, phone) in phones {
                let receipts = try await history.receipts(of: phone)
                #expect(receipts.map(\.reason) == ["Ineligible/not_registered"], "\(name)")
                #expect(receipts.map(\.attempts) == [0], "\(name)")
                #expect(try await history.received(by: phone).isEmpty, "\(name)")
            }
            let receipts = try await history.receipts(of: admin)
            let states = Dictionary(uniqueKeysWithValues: receipts.map { ($0.eventID, $0.state) })
            #expect(states == [alert: .accepted, detection: .permanent])
            #expect(receipts.first { $0.eventID == detection }?.reason == "Ineligible/role")
            for phone in [bystander, admin] {
                let received = try await history.received(by: phone)
                #expect(received.map(\.collapseID) == [alert.description])
            }
        }
    }

    private static func end(
        _ name: String,
        _ phone: TestPhone,
        _ world: World,
        _ admin: TestPhone
    ) async throws {
        switch name {
        case "logout": try await phone.logout()
        case "device":
            let tablet = try await world.anotherPhone(of: name)
            _ = try await tablet.call("DELETE", "/devices/\(phone["session_id"])", nil)
        case "proof":
            let session = JSONValue.string(phone["session_id"])
            let proof = try await phone.call(
                "POST",
                "/auth/proof",
                .object(["expected_session_id": session])
            )
            let members = ["session_id": session, "proof": proof["proof"] ?? .null]
            _ = try await phone.call("POST", "/auth/revoke", .object(members))
        case "password":
            _ = try await admin.call(
                "PUT",
                "/admin/users/\(phone["user_id"])/password",
                .object(["password": .string("another horse battery staple")])
            )
        default: _ = try await admin.call("DELETE", "/admin/users/\(phone["user_id"])", nil)
        }
    }
}

extension World {
    /// Another signed-in phone of an account, without a registration.
    fileprivate func anotherPhone(of name: String) async throws -> TestPhone {
        let pairing = try await ask(.registration, PairingCreate(username: name))
        let phone = try TestPhone(
            http: http,
            server: "http://127.0.0.1:\(running.ports(of: .registration)["http"] ?? 0)",
            installation: InstallationID("tablet-\(name)")
        )
        try await phone.pair(pairing.code)
        return phone
    }

    /// Publishes what administrators alone may have.
    fileprivate func publishDetection() async throws -> EventID {
        let text = """
            {"specversion":"1.0","id":"d-1","source":"/system-tests",
            "type":"org.pushbus.security.detected.v1","data":{"security_event_type":"ssh_brute_force",
            "security_event_id":"1","server_id":"web-1","source_address":"203.0.113.9",
            "failed_count":20}}
            """
        let event = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
        let answer = try await ask(.eventIngest, EventPublish(events: [event]))
        guard let result = answer.results.first, let id = result.eventID else {
            throw SystemTestFailure("publish answered \(answer)")
        }
        return id
    }

    /// Waits until Delivery has so many rows, all of them waiting or all of them ended.
    fileprivate func waitForRows(_ count: Int, ended: Bool) async throws {
        while true {
            let states = try await ask(.delivery, OutboxStatus()).states.filter { $0.rows > 0 }
            let rows = states.map(\.rows).reduce(0, +)
            if rows == Int64(count), states.allSatisfy({ $0.state.isTerminal == ended }) { return }
            try Task.checkCancellation()
        }
    }
}
