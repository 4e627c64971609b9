import Contracts
import PushBusCrypto
import PushBusDevice
import Testing

@Suite struct NotificationOpenerTests {
    private func reason(_ opening: Opening) -> Opening.GenericReason? {
        guard case .generic(let banner, let reason, let eventID, let target) = opening else {
            return nil
        }
        #expect(
            banner == Banner(title: "ServerBee", body: "Open ServerBee to view this notification.")
        )
        if reason != .expired {
            #expect(eventID == nil)
            #expect(target == nil)
        }
        return reason
    }

    @Test func contentIsShownWithItsTarget() throws {
        var phone = try OpenerFixture()
        let opening = phone.open(try phone.payload(phone.plaintext()))
        guard case .content(let banner, let eventID, let target) = opening else {
            Issue.record("not shown: \(opening)")
            return
        }
        #expect(banner == Banner(title: "Alert: CPU high", body: "web-1 needs attention."))
        #expect(try eventID == OpenerFixture.event(1))
        #expect(
            target?.destination(for: phone.identity)
                == .alert(
                    AlertKey(
                        rule: "cpu",
                        server: "web-1",
                        sourceAddress: "10.0.0.7",
                        startedAt: "2033-05-18T03:33:20Z"
                    )
                )
        )
    }

    @Test func aTapForAnotherLoginLeadsNowhere() throws {
        var phone = try OpenerFixture()
        let opening = phone.open(try phone.payload(phone.plaintext(.test)))
        guard case .content(_, _, let target?) = opening else {
            Issue.record("not shown: \(opening)")
            return
        }
        #expect(target.destination(for: phone.identity) == .settings)
        var other = phone.identity
        other.userID = UserID("user-2")
        #expect(target.destination(for: other) == nil)
        other = phone.identity
        other.deploymentID = DeploymentID("https://other.example.test")
        #expect(target.destination(for: other) == nil)
    }

    @Test func repeatIsSilent() throws {
        var phone = try OpenerFixture()
        let plaintext = try phone.plaintext()
        _ = phone.open(try phone.payload(plaintext))
        // Sealed anew: another nonce, the same event.
        let again = phone.open(try phone.payload(plaintext))
        #expect(again == .silent(.repeated, eventID: plaintext.eventID))
    }

    @Test func olderStateOfAnAlertIsSilent() throws {
        var phone = try OpenerFixture()
        let firing = try phone.plaintext(OpenerFixture.alert(.firing), event: 1)
        let resolved = try phone.plaintext(
            OpenerFixture.alert(.resolved),
            event: 2,
            createdAt: OpenerFixture.now.adding(seconds: 5)
        )
        _ = phone.open(try phone.payload(resolved))
        let late = phone.open(try phone.payload(firing))
        #expect(late == .silent(.outdated, eventID: firing.eventID))
    }

    @Test func whatIsLeftOfAnOlderCycleIsSilent() throws {
        var phone = try OpenerFixture()
        let old = try phone.plaintext(OpenerFixture.alert(.resolved), event: 1)
        let key =
            "v1." + Blob(Array(#"["cpu","web-1","10.0.0.7","2033-05-18T04:00:00Z"]"#.utf8)).base64
        let newer = NotificationContent.alert(
            AlertContent(alertKey: key, status: .firing, ruleName: "CPU high", serverName: "web-1")
        )
        let next = try phone.plaintext(
            newer,
            event: 2,
            createdAt: OpenerFixture.now.adding(seconds: 60)
        )
        _ = phone.open(try phone.payload(next))
        #expect(phone.open(try phone.payload(old)) == .silent(.outdated, eventID: old.eventID))
    }

    @Test func anotherDimensionIsAnotherAlert() throws {
        var phone = try OpenerFixture()
        let key =
            "v1." + Blob(Array(#"["cpu","web-1","10.0.0.8","2033-05-18T04:00:00Z"]"#.utf8)).base64
        let other = NotificationContent.alert(
            AlertContent(alertKey: key, status: .firing, ruleName: "CPU high", serverName: "web-1")
        )
        let later = OpenerFixture.now.adding(seconds: 60)
        _ = phone.open(try phone.payload(phone.plaintext(other, event: 2, createdAt: later)))
        guard case .content = phone.open(try phone.payload(phone.plaintext(event: 1))) else {
            Issue.record("another alert was taken for this one")
            return
        }
    }

    @Test func withinOneSecondTheRecoveryIsTheNewerState() throws {
        for firstIsRecovery in [true, false] {
            var phone = try OpenerFixture()
            let firing = try phone.plaintext(OpenerFixture.alert(.firing), event: 1)
            let resolved = try phone.plaintext(OpenerFixture.alert(.resolved), event: 2)
            _ = phone.open(try phone.payload(firstIsRecovery ? resolved : firing))
            let second = phone.open(try phone.payload(firstIsRecovery ? firing : resolved))
            if firstIsRecovery {
                #expect(second == .silent(.outdated, eventID: firing.eventID))
            } else {
                guard case .content = second else {
                    Issue.record("the recovery was not shown: \(second)")
                    continue
                }
            }
        }
    }

    @Test func expiredShowsTheGenericTextAndKeepsItsTarget() throws {
        var phone = try OpenerFixture()
        let plaintext = try phone.plaintext(life: 60)
        let payload = try phone.payload(plaintext)
        let opening = phone.open(payload, at: OpenerFixture.now.adding(seconds: 60))
        #expect(reason(opening) == .expired)
        #expect(opening.eventID == plaintext.eventID)
        #expect(phone.shown.target(of: plaintext.eventID)?.destination(for: phone.identity) != nil)
        #expect(phone.open(payload) == .silent(.repeated, eventID: plaintext.eventID))
    }

    @Test func aSecondBeforeExpiryIsShown() throws {
        var phone = try OpenerFixture()
        let opening = phone.open(
            try phone.payload(phone.plaintext(life: 60)),
            at: OpenerFixture.now.adding(seconds: 59)
        )
        guard case .content = opening else {
            Issue.record("not shown: \(opening)")
            return
        }
    }

    @Test func tamperedEnvelopesShowTheGenericText() throws {
        let changes: [(Opening.GenericReason, (inout Envelope) -> Void)] = [
            (.unsupportedVersion, { $0.version = 2 }),
            (.authenticationFailed, { $0.ciphertext.bytes[0] ^= 1 }),
            (.authenticationFailed, { $0.ciphertext.bytes[$0.ciphertext.bytes.count - 1] ^= 1 }),
            (.authenticationFailed, { $0.nonce.bytes[0] ^= 1 }),
            (.otherRecipient, { $0.identity = String(repeating: "a", count: 64) }),
            (.malformed, { $0.nonce.bytes.append(0) }),
            (.malformed, { $0.ciphertext.bytes = [1, 2, 3] }),
        ]
        for (expected, change) in changes {
            var phone = try OpenerFixture()
            let payload = try phone.payload(phone.plaintext(), changing: change)
            #expect(reason(phone.open(payload)) == expected)
            #expect(phone.shown.entries.isEmpty)
        }
    }

    @Test func payloadsWithoutAnEnvelopeShowTheGenericText() throws {
        var phone = try OpenerFixture()
        let otherKey = try phone.payload(phone.plaintext(), key: "envelope")
        #expect(reason(phone.open(otherKey)) == .noEnvelope)
        #expect(reason(phone.open(Array("{}".utf8))) == .noEnvelope)
        #expect(reason(phone.open(Array("[]".utf8))) == .malformed)
        #expect(reason(phone.open(Array("not JSON".utf8))) == .malformed)
        #expect(reason(phone.open([])) == .malformed)
        #expect(reason(phone.open(Array(#"{"serverbee_envelope":7}"#.utf8))) == .malformed)
        let long = [UInt8](repeating: 0x20, count: NotificationOpener.payloadLimit + 1)
        #expect(reason(phone.open(long)) == .malformed)
    }

    @Test func theProfileNamesPayloadKeyAndLabel() throws {
        var phone = try OpenerFixture()
        phone.opener = NotificationOpener(
            profile: try AppProfile(
                label: "Acme",
                payloadKey: "acme",
                fallbackTitle: "Acme One",
                fallbackBody: "Look at Acme."
            ),
            language: .english
        )
        guard case .content = phone.open(try phone.payload(phone.plaintext(), key: "acme")) else {
            Issue.record("not shown")
            return
        }
        #expect(phone.opener.genericBanner == Banner(title: "Acme One", body: "Look at Acme."))
        let chinese = NotificationOpener(
            profile: phone.opener.profile,
            language: .simplifiedChinese
        )
        #expect(chinese.genericBanner == Banner(title: "Acme", body: "打开 Acme 查看此通知。"))
    }

    @Test func aSealedEnvelopeOfAnotherAccountIsRefused() throws {
        var phone = try OpenerFixture()
        var foreign = try phone.plaintext()
        foreign.identity.userID = UserID("user-2")
        #expect(reason(phone.open(try phone.payload(foreign))) == .otherRecipient)
    }

    @Test func signedOutShowsTheGenericText() throws {
        var phone = try OpenerFixture()
        let payload = try phone.payload(phone.plaintext())
        let opening = phone.opener.open(
            payload: payload,
            recipient: nil,
            keyring: nil,
            shown: &phone.shown,
            now: OpenerFixture.now
        )
        #expect(reason(opening) == .signedOut)
    }
}
