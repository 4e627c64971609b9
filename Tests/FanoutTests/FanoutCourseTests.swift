import Contracts
import FanoutCore
import ServiceKit
import Testing

/// The decisions alone, step by step.
@Suite struct FanoutCourseTests {
    private let event = FanoutWorld.event()
    private var now: UnixMilliseconds { event.createdAt.start }

    private func records(_ range: Range<Int>) -> [DeliveryEnqueue.Record] {
        range.map { number in
            let recipient = FanoutWorld.recipient(number)
            return .init(installationID: recipient.installationID, binding: 1, failure: "none")
        }
    }

    private func page(
        _ ranges: Range<Int>...,
        more: Bool,
        skipped: [String: Int64] = [:]
    ) -> SealedPage {
        let batches = ranges.map { records($0) }
        return SealedPage(
            batches: batches,
            last: batches.last?.last?.installationID,
            more: more,
            skipped: skipped
        )
    }

    private func id(_ number: Int) -> InstallationID {
        FanoutWorld.recipient(number).installationID
    }

    private func answer(_ cursor: InstallationID?, open: Bool = true) -> FanoutProgressAnswer {
        FanoutProgressAnswer(eventID: event.eventID, cursor: cursor, isOpen: open)
    }

    private func tickets(_ actions: [FanoutCourse.Action]) -> [Int] {
        actions.compactMap { if case .enqueue(let ticket, _) = $0 { ticket } else { nil } }
    }

    private func report(_ actions: [FanoutCourse.Action]) -> FanoutProgress? {
        actions.lazy.compactMap { if case .report(let report) = $0 { report } else { nil } }.first
    }

    private func ending(_ actions: [FanoutCourse.Action]) -> FanoutCourse.Ending? {
        actions.lazy.compactMap { if case .end(let ending) = $0 { ending } else { nil } }.first
    }

    @Test func acknowledgementsOutOfOrderAreReportedInOrder() {
        var course = FanoutCourse(event, pageSize: 10, window: 3)
        #expect(course.next(now: now).count == 1)
        course.received(page(0..<10, 10..<20, 20..<30, more: false))
        #expect(tickets(course.next(now: now)) == [0, 1, 2])
        course.acknowledged(2)
        #expect(course.next(now: now).isEmpty)
        course.acknowledged(0)
        let first = report(course.next(now: now))
        #expect(first?.to == id(9))
        #expect(first?.state == .more)
        course.acknowledged(1)
        #expect(course.next(now: now).isEmpty)
        course.answered(answer(id(9)))
        let second = report(course.next(now: now))
        #expect(second?.from == id(9))
        #expect(second?.to == id(29))
        #expect(second?.written == 20)
        #expect(second?.state == .done)
        course.answered(answer(id(29), open: false))
        #expect(ending(course.next(now: now)) == .done)
        #expect(course.next(now: now).isEmpty)
    }

    @Test func theWindowHoldsBatchesBackAndFetchesAhead() {
        var course = FanoutCourse(event, pageSize: 10, window: 2)
        _ = course.next(now: now)
        course.received(page(0..<1, 1..<2, 2..<3, more: true))
        #expect(tickets(course.next(now: now)) == [0, 1])
        course.acknowledged(0)
        let actions = course.next(now: now)
        #expect(tickets(actions) == [2])
        #expect(!actions.contains { if case .fetch = $0 { true } else { false } })
        course.acknowledged(1)
        let later = course.next(now: now)
        let fetch = later.compactMap { if case .fetch(let page) = $0 { page } else { nil } }.first
        #expect(fetch?.after == id(2))
    }

    @Test func givingBackWaitsForWhatIsInFlight() {
        var course = FanoutCourse(event, pageSize: 10, window: 2)
        _ = course.next(now: now)
        course.received(page(0..<5, 5..<10, 10..<15, more: true, skipped: ["role": 2]))
        _ = course.next(now: now)
        course.refused(1, delay: 500)
        #expect(course.next(now: now).isEmpty)
        course.acknowledged(0)
        let back = report(course.next(now: now))
        #expect(back?.state == .back)
        #expect(back?.to == id(4))
        #expect(back?.written == 5)
        #expect(back?.skipped == [:])
        #expect(back?.delayMilliseconds == 500)
        course.answered(answer(id(4)))
        #expect(ending(course.next(now: now)) == .back)
    }

    @Test func pagesWithoutRecipientsMoveTheCursor() {
        var course = FanoutCourse(event, pageSize: 10, window: 2)
        _ = course.next(now: now)
        course.received(
            SealedPage(batches: [], last: id(99), more: true, skipped: ["unsubscribed": 100])
        )
        let actions = course.next(now: now)
        #expect(report(actions)?.to == id(99))
        #expect(report(actions)?.skipped == ["unsubscribed": 100])
        course.received(SealedPage(batches: [], last: nil, more: false, skipped: [:]))
        course.answered(answer(id(99)))
        let last = report(course.next(now: now))
        #expect(last?.from == id(99))
        #expect(last?.to == id(99))
        #expect(last?.state == .done)
    }

    @Test func anotherCursorOrAClosedEventEndsTheCourse() {
        for (cursor, isOpen, expected) in [
            (id(3), true, FanoutCourse.Ending.elsewhere), (id(3), false, .closed),
            (id(4), false, .closed),
        ] {
            var course = FanoutCourse(event, pageSize: 10, window: 2)
            _ = course.next(now: now)
            course.received(page(0..<5, more: true))
            _ = course.next(now: now)
            course.acknowledged(0)
            _ = course.next(now: now)
            course.answered(answer(cursor, open: isOpen))
            course.received(page(5..<6, more: false))
            #expect(ending(course.next(now: now)) == expected)
        }
    }

    @Test func expiryStopsNewWorkButWaitsForOld() {
        var course = FanoutCourse(event, pageSize: 10, window: 2)
        _ = course.next(now: now)
        course.received(page(0..<5, more: true))
        _ = course.next(now: now)
        let late = event.expiresAt.start
        #expect(course.next(now: late).isEmpty)
        course.acknowledged(0)
        course.received(page(5..<6, more: false))
        #expect(ending(course.next(now: late)) == .expired)
    }

    /// Random windows, refusals and orders: rows end complete and reports are contiguous.
    @Test(arguments: 0..<200)
    func anyOrderEndsComplete(_ seed: Int) {
        let random = RandomSource.seeded(UInt64(seed))
        let total = Int(random.uniform(below: 60))
        var cursor: InstallationID?
        var isOpen = true
        var written: Set<Int> = []
        var counted: Int64 = 0
        var rounds = 0
        while isOpen && rounds < 10_000 {
            var handed = event
            handed.cursor = cursor
            var course = FanoutCourse(handed, pageSize: 10, window: 3)
            var open: [FanoutCourse.Action] = []
            while rounds < 10_000 {
                rounds += 1
                let actions = course.next(now: now)
                if ending(actions) != nil { break }
                open.append(contentsOf: actions)
                guard !open.isEmpty else {
                    Issue.record("the course stands still")
                    return
                }
                // One Fanout in fifty dies here.
                if random.uniform(below: 50) == 0 { break }
                switch open.remove(at: Int(random.uniform(below: UInt64(open.count)))) {
                case .fetch(let request):
                    if random.uniform(below: 10) == 0 {
                        course.unfetched(delay: 5)
                        continue
                    }
                    course.received(answerPage(request, total))
                case .enqueue(let ticket, let batch):
                    if random.uniform(below: 10) == 0 {
                        course.refused(ticket, delay: 5)
                        continue
                    }
                    for record in batch.records { written.insert(Int(record.binding)) }
                    course.acknowledged(ticket)
                case .report(let progress):
                    if isOpen && progress.from == cursor {
                        cursor = progress.to
                        counted += progress.written
                        if progress.state == .done { isOpen = false }
                    }
                    if random.uniform(below: 20) == 0 {
                        course.unanswered()
                    } else {
                        course.answered(answer(cursor, open: isOpen))
                    }
                case .end: break
                }
            }
        }
        #expect(!isOpen)
        #expect(written == Set(0..<total))
        #expect(counted == Int64(total))
    }

    private func answerPage(_ request: AudiencePage, _ total: Int) -> SealedPage {
        let rest = (0..<total).filter { number in request.after.map { $0 < id(number) } ?? true }
        let numbers = Array(rest.prefix(request.limit))
        let records = numbers.map { number in
            DeliveryEnqueue.Record(
                installationID: id(number),
                binding: Int64(number),
                failure: "none"
            )
        }
        let half = records.count / 2
        return SealedPage(
            batches: [Array(records[..<half]), Array(records[half...])].filter { !$0.isEmpty },
            last: numbers.last.map(id),
            more: rest.count > numbers.count,
            skipped: [:]
        )
    }
}
