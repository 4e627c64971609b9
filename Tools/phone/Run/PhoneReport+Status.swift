import Commands
import Contracts
import PushBusDevice
import ServiceKit

/// What commands say about the phone.
extension PhoneReport {
    /// The disclosure, before anything is switched on.
    func disclose(_ language: Language) {
        let page = Disclosure.page(language)
        say(
            "disclosure",
            page.joined(separator: "\n"),
            ["lines": .array(page.map { .string($0) })]
        )
    }

    /// How things are.
    func show(_ status: DeviceStatus, _ language: Language) {
        let text = TextTable(language)
        let lines = text.lines(status)
        let actions = status.actions.map { "[\(text.name(of: $0))]" }
        var fields: [String: JSONValue] = [
            "account": .string(Self.word(status.account)),
            "registration": .string(Self.word(status.registration)),
            "has_proof": .bool(status.hasProof),
            "waiting_cleanups": .integer(Int64(status.waitingCleanups)),
            "actions": .array(status.actions.map { .string($0.rawValue) }),
            "lines": .array(lines.map { .string($0) }),
        ]
        if let permission = status.permission {
            fields["permission"] = .string(permission.rawValue)
        }
        if let settings = status.confirmed {
            fields["revision"] = .integer(settings.revision)
            fields["enabled"] = .bool(settings.preferences.enabled)
        }
        if status.unconfirmed != nil { fields["unconfirmed"] = .bool(true) }
        if let trouble = status.saveTrouble { fields["save_trouble"] = .string(trouble.name) }
        if let trouble = status.contactTrouble { fields["contact_trouble"] = .string(trouble.name) }
        let shown = lines + (actions.isEmpty ? [] : [actions.joined(separator: " ")])
        say("status", shown.joined(separator: "\n"), fields)
    }

    /// One session of the account.
    func show(_ device: SignedInDevice) {
        let current = device.isCurrent == true ? " (this phone)" : ""
        say(
            "session",
            "\(device.sessionID)  \(device.name)  signed in \(device.pairedAt.start.rfc3339), "
                + "last seen \(device.lastActiveAt.start.rfc3339)\(current)",
            [
                "session_id": .string(device.sessionID.text), "name": .string(device.name),
                "installation_id": .string(device.installationID.text),
                "paired_at": .integer(device.pairedAt.seconds),
                "last_active_at": .integer(device.lastActiveAt.seconds),
                "expires_at": .integer(device.expiresAt.seconds),
                "current": .bool(device.isCurrent == true),
            ]
        )
    }

    /// Where a tap led; the exit code of it.
    func show(_ outcome: TapRouting.Outcome?, _ text: TextTable) -> Int32 {
        switch outcome {
        case nil:
            say("tap", "no tap waits", ["outcome": .string("none")])
            return ExitCode.success
        case .buffered:
            say("tap", text[.errorSignedOut], ["outcome": .string("buffered")])
            return ExitCode.unavailable
        case .open(let destination):
            say(
                "tap",
                "opens \(destination)",
                ["outcome": .string("open"), "opens": .string(destination.description)]
            )
            return ExitCode.success
        case .fallback(let fallback):
            let buttons = fallback.canRetry ? [text[.actionRetry]] : []
            let line = (buttons + [text[.actionDismiss]]).map { "[\($0)]" }
            say(
                "tap",
                "\(text[fallback.text]) \(line.joined(separator: " "))",
                ["outcome": .string("fallback"), "reason": .string(fallback.rawValue)]
            )
            return fallback.canRetry ? ExitCode.unavailable : ExitCode.failure
        }
    }

    private static func word(_ account: DeviceStatus.Account) -> String {
        switch account {
        case .signedOut(wasEnded: false): "signed_out"
        case .signedOut(wasEnded: true): "ended"
        case .signedIn: "signed_in"
        case .lost: "lost"
        }
    }

    private static func word(_ registration: DeviceStatus.Registration) -> String {
        switch registration {
        case .off: "off"
        case .waiting: "waiting"
        case .registered: "registered"
        case .undeliverable: "undeliverable"
        case .failed(let code): "failed: \(code.name)"
        }
    }
}
