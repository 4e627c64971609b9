import Contracts

/// The course of one event through its audience: what to do next, and what is safe to report.
///
/// Pages are fetched one after another, a window of batches is in flight at Delivery, and only the
/// contiguous acknowledged prefix is reported, one report at a time. Input goes in through the
/// methods; ``next(now:)`` gives what can be started. It holds sealed records, never a key.
package struct FanoutCourse: Sendable {
    /// Something to carry out; its result comes back through one of the methods.
    package enum Action: Hashable, Sendable {
        /// Ask Registration, then seal; answered by ``received(_:)`` or ``giveBack(after:)``.
        case fetch(AudiencePage)
        /// Hand to Delivery; answered by ``acknowledged(_:)`` or ``refused(_:delay:)``.
        case enqueue(ticket: Int, DeliveryEnqueue)
        /// Tell EventIngest; answered by ``answered(_:)`` or ``unanswered()``.
        case report(FanoutProgress)
        /// Nothing more will come of it.
        case end(Ending)
    }

    /// How the course of an event at this Fanout ended.
    package enum Ending: String, CaseIterable, Sendable {
        /// The audience is complete and EventIngest has it.
        case done
        /// Given back to EventIngest.
        case back
        /// EventIngest's cursor is elsewhere: another Fanout has it.
        case elsewhere
        /// EventIngest says that the event has ended.
        case closed
        /// Its time ran out here.
        case expired
        /// EventIngest did not answer; it hands the event out again by itself.
        case unanswered
    }

    private enum State {
        case waiting([DeliveryEnqueue.Record])
        case sent
        case acknowledged
    }

    /// A stretch of the audience that is acknowledged as one.
    private struct Segment {
        var to: InstallationID?
        var written: Int64
        var skipped: [String: Int64]
        var state: State
    }

    package let event: EventAdmitted
    private let pageSize: Int
    private let window: Int

    /// Where EventIngest's cursor stands, as far as we know.
    private var cursor: InstallationID?
    /// Where the next page begins.
    private var position: InstallationID?
    private var segments: [Segment] = []
    /// The ticket of `segments[0]`.
    private var firstTicket = 0
    private var inFlight = 0
    private var isFetching = false
    private var hasAll = false
    /// Segments covered by the report under way.
    private var reporting: (progress: FanoutProgress, count: Int)?
    private var backDelay: Int64?
    private var ending: Ending?
    private var hasEnded = false

    /// Begins at the event's cursor; `pageSize` is 1 to 512 and `window` at least 1.
    package init(_ event: EventAdmitted, pageSize: Int, window: Int) {
        self.event = event
        self.pageSize = min(max(pageSize, 1), BusLimits.records)
        self.window = max(window, 1)
        cursor = event.cursor
        position = event.cursor
    }

    /// What can be started now; each action is given out once.
    package mutating func next(now: UnixMilliseconds) -> [Action] {
        guard !hasEnded else { return [] }
        if ending == nil && event.expiresAt.start <= now { stop(.expired) }
        if let ending {
            guard !isFetching && inFlight == 0 && reporting == nil else { return [] }
            hasEnded = true
            return [.end(ending)]
        }
        var actions: [Action] = []
        if backDelay == nil { advance(&actions) }
        if let report = dueReport() { actions.append(.report(report)) }
        return actions
    }

    private mutating func advance(_ actions: inout [Action]) {
        for index in segments.indices {
            guard inFlight < window else { return }
            guard case .waiting(let records) = segments[index].state else { continue }
            segments[index].state = .sent
            inFlight += 1
            let batch = DeliveryEnqueue(
                eventID: event.eventID,
                category: event.content.category,
                createdAt: event.createdAt,
                expiresAt: event.expiresAt,
                watermark: event.watermark,
                records: records
            )
            actions.append(.enqueue(ticket: firstTicket + index, batch))
        }
        guard !hasAll && !isFetching && inFlight < window else { return }
        isFetching = true
        let page = AudiencePage(
            category: event.content.category,
            watermark: event.watermark,
            audience: event.audience,
            after: position,
            limit: pageSize
        )
        actions.append(.fetch(page))
    }

    /// The next report: over the contiguous acknowledged prefix, once what it needs is there.
    private mutating func dueReport() -> FanoutProgress? {
        guard reporting == nil else { return nil }
        if backDelay != nil && (isFetching || inFlight > 0) { return nil }
        let prefix = segments.prefix { if case .acknowledged = $0.state { true } else { false } }
        let isComplete = hasAll && prefix.count == segments.count
        guard !prefix.isEmpty || backDelay != nil else { return nil }
        var skipped: [String: Int64] = [:]
        for segment in prefix { skipped.merge(segment.skipped, uniquingKeysWith: Self.sum) }
        let progress = FanoutProgress(
            eventID: event.eventID,
            from: cursor,
            to: prefix.last.map(\.to) ?? cursor,
            written: prefix.reduce(0) { Self.sum($0, $1.written) },
            skipped: skipped,
            state: isComplete ? .done : backDelay == nil ? .more : .back,
            delayMilliseconds: isComplete ? nil : backDelay
        )
        reporting = (progress, prefix.count)
        return progress
    }

    // MARK: - Results

    /// A page was fetched and sealed.
    package mutating func received(_ page: SealedPage) {
        isFetching = false
        guard backDelay == nil && ending == nil else { return }
        let end = page.last ?? position
        for (index, batch) in page.batches.enumerated() {
            let isLast = index == page.batches.count - 1
            segments.append(
                Segment(
                    to: isLast ? end : batch.last?.installationID ?? end,
                    written: Int64(batch.count),
                    skipped: isLast ? page.skipped : [:],
                    state: .waiting(batch)
                )
            )
        }
        if page.batches.isEmpty {
            let empty = Segment(to: end, written: 0, skipped: page.skipped, state: .acknowledged)
            segments.append(empty)
        }
        position = end
        hasAll = !page.more
    }

    /// No page came: Registration is silent or answered what cannot be used.
    package mutating func unfetched(delay milliseconds: Int64) {
        isFetching = false
        giveBack(after: milliseconds)
    }

    /// Delivery has committed a batch; records that were there already count as written.
    package mutating func acknowledged(_ ticket: Int) {
        inFlight -= 1
        let index = ticket - firstTicket
        guard segments.indices.contains(index) else { return }
        segments[index].state = .acknowledged
    }

    /// Delivery did not take a batch.
    package mutating func refused(_ ticket: Int, delay milliseconds: Int64) {
        inFlight -= 1
        giveBack(after: milliseconds)
    }

    /// Returns the event to EventIngest as soon as nothing is in flight any more; what has not been
    /// sent is dropped at once.
    package mutating func giveBack(after milliseconds: Int64) {
        backDelay = max(backDelay ?? 0, max(0, milliseconds))
        dropWaiting()
    }

    /// EventIngest's answer to the report under way.
    package mutating func answered(_ answer: FanoutProgressAnswer) {
        guard let (progress, count) = reporting else { return }
        reporting = nil
        guard answer.cursor == progress.to, answer.isOpen || progress.state == .done else {
            stop(answer.isOpen ? .elsewhere : .closed)
            return
        }
        cursor = progress.to
        segments.removeFirst(count)
        firstTicket += count
        switch progress.state {
        case .more: break
        case .done: stop(.done)
        case .back: stop(.back)
        }
    }

    /// EventIngest is silent.
    package mutating func unanswered() {
        reporting = nil
        stop(.unanswered)
    }

    private mutating func stop(_ ending: Ending) {
        self.ending = ending
        dropWaiting()
    }

    private mutating func dropWaiting() {
        let waits = segments.firstIndex { if case .waiting = $0.state { true } else { false } }
        if let waits {
            segments.removeSubrange(waits...)
            hasAll = false
        }
    }

    private static func sum(_ left: Int64, _ right: Int64) -> Int64 {
        let (sum, overflow) = left.addingReportingOverflow(right)
        return overflow ? .max : sum
    }
}
