import Contracts
import FoundationEssentials
import PushBusCrypto
import PushBusDevice

/// One login with a content key, and payloads sealed for it.
struct OpenerFixture {
    static let now = UnixSeconds(2_000_000_000)

    let identity = EnvelopeIdentity(
        deploymentID: DeploymentID("https://push.example.test"),
        userID: UserID("user-1"),
        installationID: InstallationID("phone-1")
    )
    var keyring: ContentKeyring
    var shown = ShownLog()
    var opener = NotificationOpener(language: .english)

    init() throws {
        keyring = ContentKeyring(
            sessionID: SessionID("session-1"),
            current: try Self.entry(1)
        )
    }

    struct Missing: Error {}

    static func entry(_ number: UInt8) throws -> ContentKeyring.Entry {
        guard
            let entry = ContentKeyring.Entry.make(random: { [UInt8](repeating: number, count: $0) })
        else { throw Missing() }
        return entry
    }

    static func event(_ number: UInt8) throws -> EventID {
        guard let id = EventID(hash: [UInt8](repeating: number, count: 16)) else { throw Missing() }
        return id
    }

    static let alertKey =
        "v1."
        + Data(#"["cpu","web-1","10.0.0.7","2033-05-18T03:33:20Z"]"#.utf8).base64EncodedString()

    static func alert(_ status: AlertContent.Status = .firing) -> NotificationContent {
        .alert(
            AlertContent(
                alertKey: alertKey,
                status: status,
                ruleName: "CPU high",
                serverName: "web-1"
            )
        )
    }

    func plaintext(
        _ content: NotificationContent = alert(),
        event: UInt8 = 1,
        createdAt: UnixSeconds = now,
        life: Int64 = 1800
    ) throws -> EnvelopePlaintext {
        EnvelopePlaintext(
            identity: identity,
            eventID: try Self.event(event),
            createdAt: createdAt,
            expiresAt: createdAt.adding(seconds: life),
            content: content
        )
    }

    func payload(
        _ plaintext: EnvelopePlaintext,
        entry: ContentKeyring.Entry? = nil,
        key: String = "serverbee_envelope",
        changing change: (inout Envelope) -> Void = { _ in }
    ) throws -> [UInt8] {
        let entry = entry ?? keyring.current
        var envelope = try EnvelopeSealer.seal(plaintext, key: entry.key, keyID: entry.id)
        change(&envelope)
        let aps = #"{"aps":{"alert":{"title":"ServerBee","body":"Open"},"mutable-content":1},"#
        return Array(aps.utf8) + Array("\"\(key)\":".utf8) + envelope.json + Array("}".utf8)
    }

    mutating func open(_ payload: [UInt8], at now: UnixSeconds = now) -> Opening {
        opener.open(
            payload: payload,
            recipient: identity,
            keyring: keyring,
            shown: &shown,
            now: now
        )
    }
}
