import Contracts
import FoundationEssentials
import ServiceKit
import TestKit
import Testing
import Topology

/// An audience of many pages, two Fanouts, and the death of a service in the middle.
@Suite("Large audiences", .serialized)
struct FanoutTests {
    private static let count = 40

    @Test("a fan-out goes on after the death of any service", arguments: PushBusService.allCases)
    func killedInTheMiddle(service: PushBusService) async throws {
        try await World.run(Self.manyPages) { world in
            let phones = try await world.phones(Self.count, of: "alice")
            let proxy = try #require(world.running.proxies(of: .delivery).first)
            await proxy.set { $0.delay = .milliseconds(20) }
            let events = try await world.publish((0..<3).map(Alerts.triggered))
            try await waitUntilUnderWay(events, in: world)
            // Some leave and others come while pages are being fetched.
            let leaving = phones.prefix(4)
            for phone in leaving { try await phone.logout() }
            try await world.killAndRestart(service)
            if service == .registration {
                let server =
                    "http://127.0.0.1:\(world.running.ports(of: .registration)["http"] ?? 0)"
                for phone in phones { phone.move(to: server) }
            }
            let late = try await world.phones(4, of: "late")
            await proxy.set { $0.delay = .zero }

            let staying = Array(phones.dropFirst(4))
            try await waitUntilFannedOut(events, in: world)
            for event in events {
                let rows = try await receipts(of: event, in: world)
                let installations = rows.map(\.installationID)
                #expect(Set(installations).count == installations.count, "a row came twice")
                #expect(Set(staying.map(\.installation)).isSubset(of: installations))
                #expect(Set(late.map(\.installation)).isDisjoint(with: installations))
            }
            try await History(world: world, phones: staying).check(events)
        }
    }

    @Test("two Fanouts share the events")
    func sharedWork() async throws {
        try await World.run(Self.manyPages) { world in
            let phones = try await world.phones(8, of: "alice")
            let events = try await world.publish((0..<40).map(Alerts.triggered))
            try await History(world: world, phones: phones).check(events)
            for instance in 1...2 {
                let name = world.running.topology.processName(of: .fanout, instance: instance)
                let log = try String(
                    contentsOfFile: world.directory.file("\(name).log"),
                    encoding: .utf8
                )
                #expect(log.contains("event left"), "\(name) had nothing to do")
            }
        }
    }

    /// Two Fanouts with small pages, and a slow way to Delivery when a test wants one.
    private static func manyPages(_ topology: inout Topology) {
        topology[.fanout].instances = 2
        topology[.fanout].environment["PUSHBUS_FANOUT_PAGE_SIZE"] = "3"
        topology[.fanout].environment["PUSHBUS_FANOUT_CONCURRENCY"] = "2"
        topology[.delivery].presence = .behindFaultProxy
    }

    private func event(_ id: EventID, in world: World) async throws -> EventQueryAnswer.Event {
        let answer = try await world.ask(.eventIngest, EventQuery(eventID: id))
        return try #require(answer.events.first)
    }

    /// Returns once some pages of the first event are committed, and not all.
    private func waitUntilUnderWay(_ events: [EventID], in world: World) async throws {
        while try await event(events[0], in: world).written < 6 { try Task.checkCancellation() }
        #expect(try await event(events[0], in: world).state == .admitted)
    }

    private func waitUntilFannedOut(_ events: [EventID], in world: World) async throws {
        for id in events {
            while try await event(id, in: world).state == .admitted { try Task.checkCancellation() }
            #expect(try await event(id, in: world).state == .fannedOut)
        }
    }

    private func receipts(
        of event: EventID,
        in world: World
    ) async throws -> [ReceiptQueryAnswer.Receipt] {
        var all: [ReceiptQueryAnswer.Receipt] = []
        var after: Int64?
        repeat {
            let page = try await world.ask(
                .delivery,
                ReceiptQuery(eventID: event, after: after, limit: 16)
            )
            all += page.receipts
            after = page.next
        } while after != nil
        return all
    }
}

extension World {
    /// Phones of one account, each signed in, subscribed and registered.
    func phones(_ count: Int, of account: String) async throws -> [TestPhone] {
        let password = Password("correct horse battery staple")
        _ = try await ask(
            .registration,
            UserAdd(username: account, password: password, role: .member)
        )
        let server = "http://127.0.0.1:\(running.ports(of: .registration)["http"] ?? 0)"
        var phones: [TestPhone] = []
        for number in 10..<10 + count {
            let pairing = try await ask(.registration, PairingCreate(username: account))
            let phone = try TestPhone(
                http: http,
                server: server,
                installation: InstallationID("\(account)-\(number)")
            )
            try await phone.pair(pairing.code)
            try await phone.subscribe()
            phones.append(phone)
        }
        return phones
    }
}
