import Contracts
import PushBusDevice
import Testing

@Suite struct ContentKeyringTests {
    @Test func theReplacedKeyOpensForThirtyMinutes() throws {
        var phone = try OpenerFixture()
        let old = phone.keyring.current
        let new = try OpenerFixture.entry(2)
        let payloads = try (1...3).map { try phone.payload(phone.plaintext(event: $0), entry: old) }
        phone.keyring.confirm(new, at: OpenerFixture.now)
        #expect(phone.keyring.current == new)
        guard
            case .content = phone.open(payloads[0]),
            case .content = phone.open(payloads[1], at: OpenerFixture.now.adding(seconds: 1799))
        else {
            Issue.record("the replaced key did not open")
            return
        }
        let late = phone.open(payloads[2], at: OpenerFixture.now.adding(seconds: 1800))
        guard case .generic(_, .unknownKey, nil, nil) = late else {
            Issue.record("the replaced key opened too long: \(late)")
            return
        }
        let end = OpenerFixture.now.adding(seconds: 1800)
        let forgot = [phone.keyring.forgetExpired(at: end), phone.keyring.forgetExpired(at: end)]
        #expect(forgot == [true, false])
        #expect(phone.keyring.previous == nil)
    }

    @Test func aStagedKeyOpensBeforeTheServerConfirmedIt() throws {
        var phone = try OpenerFixture()
        let old = phone.keyring.current
        let new = try OpenerFixture.entry(2)
        phone.keyring.stage(new)
        #expect(phone.keyring.toRegister == new)
        #expect(phone.keyring.current == old)
        #expect(phone.keyring.key(new.id, at: OpenerFixture.now) == new.key)
        #expect(phone.keyring.key(old.id, at: OpenerFixture.now) == old.key)
        phone.keyring.confirm(new, at: OpenerFixture.now)
        #expect(phone.keyring.staged == nil)
        #expect(phone.keyring.previous?.entry == old)
    }

    @Test func confirmingTheCurrentKeyKeepsThePreviousOne() throws {
        var phone = try OpenerFixture()
        let old = phone.keyring.current
        phone.keyring.confirm(try OpenerFixture.entry(2), at: OpenerFixture.now)
        phone.keyring.confirm(phone.keyring.current, at: OpenerFixture.now.adding(seconds: 9))
        #expect(phone.keyring.previous?.entry == old)
        #expect(phone.keyring.previous?.replacedAt == OpenerFixture.now)
    }

    @Test func keysDoNotPrint() throws {
        let keyring = try OpenerFixture().keyring
        #expect(!"\(keyring)".contains("1, 1, 1"))
    }
}
