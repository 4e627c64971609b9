import Contracts
import FanoutCore
import Testing

@Suite struct PageTests {
    private func page(
        _ numbers: [Int],
        last: Int?,
        more: Bool = false
    ) -> AudiencePageAnswer {
        AudiencePageAnswer(
            recipients: numbers.map { FanoutWorld.recipient($0) },
            last: last.map { FanoutWorld.recipient($0).installationID },
            more: more,
            skipped: [:]
        )
    }

    @Test func pagesInOrderPass() throws {
        try PageCheck.check(page([1, 2, 5], last: 7, more: true), after: nil)
        try PageCheck.check(
            page([1, 2], last: 2),
            after: FanoutWorld.recipient(0).installationID
        )
        try PageCheck.check(page([], last: nil), after: nil)
        try PageCheck.check(page([], last: 9, more: true), after: nil)
    }

    @Test func pagesThatCouldSkipOrRepeatSomebodyAreRefused() {
        let after = FanoutWorld.recipient(3).installationID
        let bad = [
            page([5, 4], last: 5), page([4, 4], last: 4), page([3], last: 3), page([2], last: 5),
            page([4, 6], last: 5), page([4], last: nil), page([], last: nil, more: true),
            page([], last: 3, more: true), page([], last: 2),
        ]
        for page in bad {
            #expect(throws: ContractViolation.self) { try PageCheck.check(page, after: after) }
        }
        var nameless = page([4], last: 5)
        nameless.recipients[0].installationID = InstallationID("")
        #expect(throws: ContractViolation.self) { try PageCheck.check(nameless, after: nil) }
    }

    @Test func batchesStayWithinRecordsAndBytes() {
        func record(_ number: Int, bytes: Int) -> DeliveryEnqueue.Record {
            let recipient = FanoutWorld.recipient(number)
            return .init(
                installationID: recipient.installationID,
                binding: 1,
                envelope: Envelope(
                    keyID: recipient.keyID,
                    identity: String(repeating: "a", count: 64),
                    nonce: Blob([UInt8](repeating: 0, count: 12)),
                    ciphertext: Blob([UInt8](repeating: 0, count: bytes))
                )
            )
        }
        let small = SealedPage.split((0..<1200).map { record($0, bytes: 300) })
        #expect(small.map(\.count) == [512, 512, 176])
        let large = SealedPage.split((0..<512).map { record($0, bytes: 2064) })
        #expect(large.count > 1)
        #expect(large.joined().count == 512)
        for batch in large {
            let bytes = batch.count * (2064 / 3 * 4 + 320)
            #expect(bytes < BusLimits.messageBytes)
        }
    }
}
