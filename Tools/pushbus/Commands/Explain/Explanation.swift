import Contracts
import ServiceKit

/// What the services said about one event, and about one phone if somebody asked.
struct Explanation: Encodable, Sendable {
    /// Rows of the outbox that stand alike.
    struct Rows: Encodable, Hashable, Sendable {
        var state: ReceiptState
        var reason: String?
        var count: Int64
        /// The earliest next attempt among them.
        var nextAttemptAt: UnixMilliseconds?

        enum CodingKeys: String, CodingKey {
            case state
            case reason
            case count
            case nextAttemptAt = "next_attempt_at_ms"
        }
    }

    var event: EventExplainAnswer
    var rows: [Rows] = []
    /// Whom EventIngest and Delivery need for what waits and do not reach now.
    var missing: [String] = []
    var installationID: InstallationID?
    /// How the phone stands now.
    var standing: InstallationExplainAnswer?
    /// Who did not answer, and why.
    var silent: [String: String] = [:]

    init(event: EventExplainAnswer, installationID: InstallationID? = nil) {
        self.event = event
        self.installationID = installationID
    }

    enum CodingKeys: String, CodingKey {
        case event
        case rows
        case missing
        case installationID = "installation_id"
        case standing
        case silent
    }

    var isAnythingKnown: Bool {
        event.event != nil || event.run != nil || !event.receptions.isEmpty || !rows.isEmpty
    }

    mutating func count(_ receipt: ReceiptQueryAnswer.Receipt) {
        let alike = rows.firstIndex { $0.state == receipt.state && $0.reason == receipt.reason }
        let index = alike ?? rows.endIndex
        if alike == nil {
            rows.append(Rows(state: receipt.state, reason: receipt.reason, count: 0))
        }
        rows[index].count += 1
        if let next = receipt.nextAttemptAt {
            rows[index].nextAttemptAt = min(rows[index].nextAttemptAt ?? next, next)
        }
    }

    /// What a service says about itself: with no peer connected nothing is even tried.
    mutating func note(_ status: ServiceStatusAnswer) {
        let peers = status.service == "delivery" ? ["relay", "registration"] : ["fanout"]
        missing += peers.filter { peer in
            status.metrics["pushbus_bus_client_connected_peers{client=\"\(peer)\"}"] == 0
        }
    }

    var isAnyWaiting: Bool { rows.contains { !$0.state.isTerminal } }

    // MARK: - For people

    /// One line for each stage that the event has reached.
    var text: String {
        var lines: [(stage: String, words: String)] = []
        for reception in event.receptions { lines.append(("received", words(of: reception))) }
        if let run = event.run, event.event == nil { lines.append(("task run", words(of: run))) }
        if let event = event.event {
            lines.append(("decision", decision(event)))
            if let fanout = fanout(event) { lines.append(("fan-out", fanout)) }
        }
        if installationID == nil {
            for rows in rows { lines.append(("delivery", words(of: rows))) }
        } else {
            lines += phone
        }
        for (service, reason) in silent.sorted(by: { $0.key < $1.key }) {
            lines.append((service, "unknown: \(reason)"))
        }
        let title = event.event.map { "\($0.category.rawValue) " } ?? ""
        let name = event.eventID.map { "\($0)" } ?? "unknown to EventIngest"
        var text = "\(title)event \(name)\n"
        for line in lines {
            let gap = String(repeating: " ", count: max(1, 14 - line.stage.count))
            text += "  \(line.stage)\(gap)\(line.words)\n"
        }
        return text
    }

    private func words(of reception: EventExplainAnswer.Reception) -> String {
        let what =
            switch reception.verdict {
            case "duplicate": "the same happening again, recorded as a duplicate"
            case "noted": "noted as a part of a task run"
            case "admitted" where event.run != nil: "it completed a task run"
            default: "recorded as \(reception.verdict)"
            }
        return "\(reception.receivedAt.start.rfc3339) from \(reception.source) as "
            + "\(reception.id): \(what)"
    }

    private func words(of run: EventExplainAnswer.Run) -> String {
        guard let targets = run.targets else {
            return run.isDone
                ? "has ended without a summary: its integrator may no longer publish it"
                : "waits for its start: until that is known nobody can be told"
        }
        return "\(run.finished) of \(targets) targets have their final result; "
            + "its summary is made when all have"
    }

    private func decision(_ event: EventQueryAnswer.Event) -> String {
        let until = event.expiresAt.start.rfc3339
        switch event.state {
        case .suppressed: return "suppressed: " + ReasonWords.suppression(event.reason)
        case .unresolved:
            let older = self.event.course?.waitsFor.map { " after the older detection \($0)" }
            return "not decided yet: a window's time zone cannot be read; tried again every second"
                + "\(older ?? ""), until \(until)"
        case .expired where event.reason == "too_old":
            return "not admitted: it happened more than 30 minutes before it came"
        case .expired where event.reason == "expirytime_passed":
            return "not admitted: its expirytime had passed when it came"
        case .admitted, .fannedOut, .expired: return "admitted, good until \(until)"
        }
    }

    private func fanout(_ event: EventQueryAnswer.Event) -> String? {
        let sums = sums(event)
        switch (event.state, event.reason) {
        case (.suppressed, _), (.unresolved, _), (.expired, "too_old"),
            (.expired, "expirytime_passed"):
            return nil
        case (.fannedOut, _):
            return event.written == 0
                ? "complete: no eligible installation\(sums)"
                : "complete: \(Self.rows(event.written)) written\(sums)"
        case (.expired, _):
            return "its time ended before it was complete: \(Self.rows(event.written)) written"
                + sums
        case (.admitted, "waiting_for_registration"):
            return "waiting for Registration, which has not said who was registered before it"
        case (.admitted, "at_fanout") where missing.contains("fanout"):
            return "waiting for a Fanout, none is connected to EventIngest\(sums)"
        case (.admitted, "at_fanout"):
            return "under way: \(Self.rows(event.written)) written so far\(sums)"
        case (.admitted, _):
            if let trigger = self.event.course?.waitsFor {
                return "waiting for the end of the trigger's fan-out (\(trigger))"
            }
            let turn = self.event.course?.turnAt.map { " (its turn: \($0.rfc3339))" }
            return "waiting for a Fanout that takes it\(turn ?? "")\(sums)"
        }
    }

    private func sums(_ event: EventQueryAnswer.Event) -> String {
        guard !event.skipped.isEmpty else { return "" }
        let parts = event.skipped.sorted { $0.key < $1.key }.map { reason, count in
            "\(count) \(ReasonWords.obstacle(reason))"
        }
        return "; left out: " + parts.joined(separator: ", ")
    }

    private func words(of rows: Rows) -> String {
        let next = rows.nextAttemptAt.map { ", next attempt \($0.rfc3339)" } ?? ""
        if !rows.state.isTerminal, let peer = missing.first(where: { $0 != "fanout" }) {
            let name = peer == "relay" ? "relay" : "Registration"
            return "\(Self.rows(rows.count)) waiting for the \(name), none is connected to Delivery"
        }
        return "\(Self.rows(rows.count)) \(ReasonWords.row(rows.state, rows.reason))\(next)"
    }

    private static func rows(_ count: Int64) -> String { count == 1 ? "1 row" : "\(count) rows" }

    // MARK: - One phone

    private var phone: [(stage: String, words: String)] {
        var lines: [(stage: String, words: String)] = []
        if let standing { lines.append(("registration", registration(standing))) }
        if let row = rows.first {
            lines.append(("delivery", words(of: row)))
        } else if silent["delivery"] == nil {
            lines.append(("delivery", noRow))
        }
        return lines
    }

    private func registration(_ standing: InstallationExplainAnswer) -> String {
        guard standing.isKnown else { return "knows no such installation" }
        guard standing.isInAudience else {
            return "not a recipient: the event is for another account or installation"
        }
        guard let obstacle = standing.obstacle else {
            return "may receive such events as it stands now"
        }
        let mark = event.course?.watermark
        if obstacle == .subscribedLater, let mark {
            if let binding = standing.binding, binding > mark {
                return "its binding (\(binding)) is newer than the event (\(mark)): "
                    + "it registered later"
            }
            if let since = standing.since, since > mark {
                return
                    "its subscription (\(since)) is newer than the event (\(mark)): the category "
                    + "was switched on or the role gained later"
            }
        }
        return "would not receive it now: \(ReasonWords.obstacle(obstacle.rawValue))"
    }

    private var noRow: String {
        guard let event = event.event else { return "no row" }
        switch event.state {
        case .admitted, .unresolved: return "no row yet"
        case .suppressed: return "no row: nobody is notified"
        case .fannedOut, .expired:
            return "no row: it was left out, or its receipt is no longer kept"
        }
    }
}
