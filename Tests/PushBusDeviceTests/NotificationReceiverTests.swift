import Contracts
import PushBusDevice
import Testing

@Suite struct NotificationReceiverTests {
    private func receiver(_ phone: OpenerFixture, _ store: MemoryStore) throws
        -> NotificationReceiver
    {
        try store.store(phone.keyring, .keys)
        try store.store(Recipient(phone.identity), .recipient)
        return NotificationReceiver(opener: phone.opener, store: store)
    }

    @Test func aRepeatIsSilentAfterARestart() throws {
        let phone = try OpenerFixture()
        let store = MemoryStore()
        let payload = try phone.payload(phone.plaintext())
        let first = try receiver(phone, store).receive(payload: payload, now: OpenerFixture.now)
        guard case .content(_, let eventID, let target?) = first else {
            Issue.record("not shown: \(first)")
            return
        }
        let restarted = try receiver(phone, store)
        let second = restarted.receive(payload: payload, now: OpenerFixture.now)
        #expect(second == .silent(.repeated, eventID: eventID))
        #expect(restarted.target(of: eventID) == target)
    }

    @Test func keysThatCannotBeReadShowTheGenericText() throws {
        let phone = try OpenerFixture()
        let store = MemoryStore()
        let receiver = try receiver(phone, store)
        store.breakDown(.keys)
        let opening = receiver.receive(
            payload: try phone.payload(phone.plaintext()),
            now: OpenerFixture.now
        )
        guard case .generic(_, .storage, nil, nil) = opening else {
            Issue.record("\(opening)")
            return
        }
    }

    @Test func aDamagedLogCostsNoNotification() throws {
        let phone = try OpenerFixture()
        let store = MemoryStore()
        let receiver = try receiver(phone, store)
        try store.write(Array("damaged".utf8), .shown)
        let opening = receiver.receive(
            payload: try phone.payload(phone.plaintext()),
            now: OpenerFixture.now
        )
        guard case .content = opening else {
            Issue.record("\(opening)")
            return
        }
    }

    @Test func theExtensionWritesNothingButTheLog() throws {
        var phone = try OpenerFixture()
        phone.keyring.confirm(try OpenerFixture.entry(2), at: OpenerFixture.now)
        let store = MemoryStore()
        let receiver = try receiver(phone, store)
        let before = [store.stored(.keys), store.stored(.recipient)]
        let late = OpenerFixture.now.adding(seconds: 1801)
        _ = receiver.receive(payload: try phone.payload(phone.plaintext()), now: late)
        #expect([store.stored(.keys), store.stored(.recipient)] == before)
        #expect(store.stored(.shown) != nil)
        #expect(store.stored(.state) == nil)
    }
}
