import Contracts
import EventIngestCore
import FoundationEssentials

/// The part of an event that is erased when its fan-out ends.
struct EventPayload: Codable, Sendable {
    var content: NotificationContent
    var audience: Audience

    init(_ notification: Notification) {
        content = notification.content
        audience = notification.audience
    }

    func encoded() throws -> [UInt8] { [UInt8](try JSONEncoder().encode(self)) }

    /// Nil when the bytes are not what ``encoded()`` wrote.
    static func decode(_ bytes: [UInt8]) -> EventPayload? {
        try? JSONDecoder().decode(EventPayload.self, from: Data(bytes))
    }
}
