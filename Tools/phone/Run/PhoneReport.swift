import Commands
import Contracts
import FoundationEssentials
import PushBusDevice
import ServiceKit

/// What the phone says on standard output: text for people, or a JSON object a line.
///
/// Every object has `event` and `at_ms`; the events are `signed_in`, `listening`, `registered`,
/// `disclosure`, `banner`, `repeat`, `outdated`, `disconnected`, `signed_out`, `lost`, `error` and
/// `stopped`; commands say `status`, `session`, `tap`, `test`, `recover` and `recovered`.
struct PhoneReport: Sendable {
    let asJSON: Bool
    let terminal: Terminal
    let time: any TimeSource

    init(
        asJSON: Bool,
        terminal: Terminal = .standard,
        time: any TimeSource = SystemTime()
    ) {
        self.asJSON = asJSON
        self.terminal = terminal
        self.time = time
    }

    /// Says that something happened; `text` is for people.
    func say(_ event: String, _ text: String, _ fields: [String: JSONValue] = [:]) {
        guard asJSON else {
            terminal.line(text)
            return
        }
        var object = fields
        object["event"] = .string(event)
        object["at_ms"] = .integer(time.wall.milliseconds)
        guard let bytes = try? JSONValue.object(object).canonicalBytes() else { return }
        terminal.line(String(decoding: bytes, as: UTF8.self))
    }

    /// Shows what was made of a push, and what a tap on it would open.
    func show(_ opening: Opening, apnsID: String, identity: EnvelopeIdentity?) {
        switch opening {
        case .content(let banner, let eventID, let target):
            show(banner, nil, eventID, target, apnsID, identity)
        case .generic(let banner, let reason, let eventID, let target):
            show(banner, reason, eventID, target, apnsID, identity)
        case .silent(.repeated, let eventID):
            say("repeat", "(repeat of \(eventID): silent)", ["event_id": id(eventID)])
        case .silent(.outdated, let eventID):
            say("outdated", "(older state \(eventID): silent)", ["event_id": id(eventID)])
        }
    }

    private func show(
        _ banner: Banner,
        _ reason: Opening.GenericReason?,
        _ eventID: EventID?,
        _ target: TapTarget?,
        _ apnsID: String,
        _ identity: EnvelopeIdentity?
    ) {
        let destination = identity.flatMap { target?.destination(for: $0) }
        var fields: [String: JSONValue] = [
            "title": .string(banner.title),
            "body": .string(banner.body),
            "apns_id": .string(apnsID),
            "generic": .bool(reason != nil),
        ]
        if let eventID { fields["event_id"] = id(eventID) }
        if let reason { fields["reason"] = .string(reason.rawValue) }
        if let destination { fields["tap"] = .string(destination.description) }
        let tap = destination.map { "tap opens \($0)" } ?? "tap opens the app"
        let why = reason.map { " [\($0.rawValue)]" } ?? ""
        say("banner", "┌ \(banner.title)\n│ \(banner.body)\n└ \(tap)\(why)", fields)
    }

    private func id(_ eventID: EventID) -> JSONValue { .string(eventID.description) }

    /// Says what did not work; `detail` names no secret.
    func trouble(_ error: any Error, retryIn wait: Duration? = nil) {
        let detail = String(describing: error)
        var fields: [String: JSONValue] = ["message": .string(detail)]
        if let error = error as? DeviceError { fields["code"] = .string(error.code.name) }
        let again = wait.map { " (again in \(Int64(($0 / .seconds(1)).rounded(.up))) s)" } ?? ""
        say("error", "! \(detail)\(again)", fields)
    }
}
