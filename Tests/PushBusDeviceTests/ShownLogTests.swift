import Contracts
import FoundationEssentials
import PushBusDevice
import Testing

@Suite struct ShownLogTests {
    @Test func itIsBoundedAndTheOldestGoFirst() throws {
        let phone = try OpenerFixture()
        var log = ShownLog()
        var plaintext = try phone.plaintext()
        for number in 0...ShownLog.limit {
            plaintext.eventID = EventID(UUID(uuid: uuid(number)))
            log.record(plaintext, at: OpenerFixture.now)
        }
        #expect(log.entries.count == ShownLog.limit)
        #expect(!log.contains(EventID(UUID(uuid: uuid(0)))))
        #expect(log.contains(EventID(UUID(uuid: uuid(ShownLog.limit)))))
    }

    @Test func entriesServeLateTapsForAMonthAfterExpiry() throws {
        let phone = try OpenerFixture()
        var log = ShownLog()
        let first = try phone.plaintext(event: 1)
        log.record(first, at: OpenerFixture.now)
        let later = first.expiresAt.adding(seconds: ShownLog.retentionSeconds)
        log.record(try phone.plaintext(event: 2), at: later)
        #expect(log.contains(first.eventID))
        #expect(log.target(of: first.eventID) != nil)
        log.record(try phone.plaintext(event: 3), at: later.adding(seconds: 1))
        #expect(!log.contains(first.eventID))
    }

    @Test func itSurvivesStorage() throws {
        let phone = try OpenerFixture()
        var log = ShownLog()
        log.record(try phone.plaintext(), at: OpenerFixture.now)
        let bytes = try JSONEncoder().encode(log)
        #expect(try JSONDecoder().decode(ShownLog.self, from: bytes) == log)
    }

    private func uuid(_ number: Int) -> uuid_t {
        let high = UInt8(number >> 8 & 0xff)
        return (0, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, high, UInt8(number & 0xff))
    }
}
