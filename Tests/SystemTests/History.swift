import Contracts
import FoundationEssentials
import HTTPClient
import Testing
import Topology

/// What the simulator received for one token.
struct Received: Decodable, Sendable {
    var number: Int
    var apnsID: String
    var collapseID: String?
    var payload: String

    enum CodingKeys: String, CodingKey {
        case number
        case apnsID = "apns_id"
        case collapseID = "collapse_id"
        case payload
    }
}

/// What a comparison found, counted.
struct Findings: CustomStringConvertible {
    /// Rows that did not end accepted, and accepted ones that never arrived.
    var lost = 0
    /// Arrivals after the first of the same notification.
    var repeats = 0
    /// Repeats under another apns-id than the first.
    var foreignIDs = 0

    var description: String {
        "\(lost) lost, \(repeats) repeats, \(foreignIDs) of them under another apns-id"
    }
}

/// Compares what was acknowledged with what became of it: acked publishes, event states, receipts
/// and what the simulator received.
struct History {
    let world: World
    let phones: [TestPhone]

    /// Waits until every event is fanned out and every row has ended, then checks the promises:
    /// nothing lost, nothing without an end, repeats only with the same apns-id.
    @discardableResult
    func check(_ events: [EventID]) async throws -> Findings {
        try await check(phones.map { ($0, events) })
    }

    /// The same for phones that expect different events.
    @discardableResult
    func check(_ expected: [(phone: TestPhone, events: [EventID])]) async throws -> Findings {
        var findings = Findings()
        for event in Set(expected.flatMap(\.events)) { try await waitUntilFannedOut(event) }
        try await waitUntilRowsEnd(count: expected.map(\.events.count).reduce(0, +))
        for (phone, events) in expected {
            let receipts = try await self.receipts(of: phone)
            let byEvent = Dictionary(grouping: receipts, by: \.eventID)
            for event in events {
                let rows = byEvent[event] ?? []
                if rows.first?.state != .accepted { findings.lost += 1 }
                #expect(rows.count == 1, "one row for each event and installation")
                #expect(
                    rows.first?.state == .accepted,
                    "ended \(String(describing: rows.first?.reason))"
                )
            }
            try await checkReceived(phone, events, &findings)
        }
        return findings
    }

    private func checkReceived(
        _ phone: TestPhone,
        _ events: [EventID],
        _ findings: inout Findings
    ) async throws {
        let received = try await self.received(by: phone)
        let byEvent = Dictionary(grouping: received) { $0.collapseID ?? "" }
        for event in events {
            let copies = byEvent[event.description] ?? []
            if copies.isEmpty { findings.lost += 1 }
            findings.repeats += max(0, copies.count - 1)
            findings.foreignIDs += max(0, Set(copies.map(\.apnsID)).count - 1)
            #expect(!copies.isEmpty, "\(event) was accepted and never received")
            #expect(Set(copies.map(\.apnsID)).count <= 1, "a repeat carries the same apns-id")
            for copy in copies {
                let payload = try JSONDecoder().decode(
                    JSONValue.self,
                    from: Data(copy.payload.utf8)
                )
                #expect(try phone.open(payload).eventID == event)
            }
        }
        #expect(Set(byEvent.keys) == Set(events.map(\.description)), "nothing that nobody sent")
    }

    func received(by phone: TestPhone) async throws -> [Received] {
        struct Page: Decodable { var received: [Received] }
        let reply = try await world.http.send(
            HTTPClientRequest(
                method: "GET",
                url: "\(world.simulator)/tokens/\(phone.token.hex)/received",
                timeout: .seconds(30),
                maximumReplyBytes: 64 << 20
            )
        )
        guard reply.status == 200 else { return [] }
        return try JSONDecoder().decode(Page.self, from: Data(reply.body)).received
    }

    func receipts(of phone: TestPhone) async throws -> [ReceiptQueryAnswer.Receipt] {
        var all: [ReceiptQueryAnswer.Receipt] = []
        var after: Int64?
        repeat {
            let page = try await world.ask(
                .delivery,
                ReceiptQuery(installationID: phone.installation, after: after)
            )
            all += page.receipts
            after = page.next
        } while after != nil
        return all
    }

    private func waitUntilFannedOut(_ event: EventID) async throws {
        while true {
            let answer = try await world.ask(.eventIngest, EventQuery(eventID: event))
            guard let found = answer.events.first else {
                throw SystemTestFailure("\(event) was acknowledged and is unknown now")
            }
            if found.state == .fannedOut { return }
            guard found.state == .admitted else {
                throw SystemTestFailure("\(event) is \(found.state)")
            }
            try Task.checkCancellation()
        }
    }

    private func waitUntilRowsEnd(count: Int) async throws {
        while true {
            let status = try await world.ask(.delivery, OutboxStatus())
            let rows = { (terminal: Bool) in
                status.states.filter { $0.state.isTerminal == terminal }.map(\.rows).reduce(0, +)
            }
            if rows(false) == 0 && rows(true) >= Int64(count) { return }
            try Task.checkCancellation()
        }
    }
}
