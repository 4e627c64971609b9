import Contracts
import Testing

@testable import pushbus

@Suite struct DemoLedgerTests {
    private func id(_ number: UInt8) throws -> EventID {
        try #require(EventID(hash: [UInt8](repeating: number, count: 16)))
    }

    private func ledger() throws -> DemoLedger {
        var ledger = DemoLedger()
        for (number, phones, isHeldBack) in [
            (UInt8(1), ["a", "b"], false), (2, ["a", "b"], true), (3, ["a"], false),
        ] {
            ledger.events.append(
                .init(
                    id: try id(number),
                    publishedAt: UnixMilliseconds(1000),
                    phones: Set(phones),
                    isHeldBack: isHeldBack
                )
            )
            for phone in phones {
                ledger.banners.append(
                    .init(
                        phone: phone,
                        eventID: try id(number),
                        at: UnixMilliseconds(1010 + Int64(number))
                    )
                )
            }
        }
        return ledger
    }

    @Test func everythingShownOnce() throws {
        let ledger = try ledger()
        #expect(ledger.result.isPerfect)
        #expect(
            ledger.result.line == "demo: 3 events, 5 notifications shown, 0 lost, 0 duplicated"
        )
        #expect(ledger.delays == [11, 11, 13])
    }

    @Test func aMissingBannerIsLost() throws {
        var ledger = try ledger()
        ledger.banners.removeLast()
        #expect(ledger.result.lost == 1)
        #expect(!ledger.result.isPerfect)
    }

    @Test func aSecondBannerIsADuplicate() throws {
        var ledger = try ledger()
        ledger.banners.append(ledger.banners[0])
        #expect(ledger.result.duplicated == 1)
        #expect(ledger.result.unexpected == 0)
        #expect(!ledger.result.isPerfect)
    }

    @Test func bannersOfNothingOrOnTheWrongPhoneAreUnexpected() throws {
        var ledger = try ledger()
        let at = UnixMilliseconds(2000)
        ledger.banners.append(.init(phone: "b", eventID: try id(3), at: at))
        ledger.banners.append(.init(phone: "a", eventID: nil, at: at))
        ledger.banners.append(.init(phone: "a", eventID: try id(9), at: at))
        #expect(ledger.result.unexpected == 3)
        #expect(!ledger.result.isPerfect)
    }
}
