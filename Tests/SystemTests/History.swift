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

/// Compares what was acknowledged with what became of it: acked publishes, event states, receipts
/// and what the simulator received.
struct History {
    let world: World
    let phones: [TestPhone]

    /// Waits until every event is fanned out and every row has ended, then checks the promises:
    /// nothing lost, nothing without an end, repeats only with the same apns-id.
    func check(_ events: [EventID], accepted: Bool = true) async throws {
        for event in events { try await waitUntilFannedOut(event) }
        try await waitUntilRowsEnd(count: events.count * phones.count)
        for phone in phones {
            let receipts = try await self.receipts(of: phone)
            let byEvent = Dictionary(grouping: receipts, by: \.eventID)
            for event in events {
                let rows = byEvent[event] ?? []
                #expect(rows.count == 1, "one row for each event and installation")
                #expect(rows.allSatisfy { $0.state.isTerminal })
                if accepted {
                    #expect(
                        rows.first?.state == .accepted,
                        "ended \(String(describing: rows.first?.reason))"
                    )
                }
            }
            if accepted { try await checkReceived(phone, events) }
        }
    }

    private func checkReceived(_ phone: TestPhone, _ events: [EventID]) async throws {
        let received = try await self.received(by: phone)
        let byEvent = Dictionary(grouping: received) { $0.collapseID ?? "" }
        for event in events {
            let copies = byEvent[event.description] ?? []
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

    /// How many notifications came again, all phones together.
    func repeats() async throws -> Int {
        var count = 0
        for phone in phones {
            let received = try await self.received(by: phone)
            count += received.count - Set(received.map(\.collapseID)).count
        }
        return count
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
