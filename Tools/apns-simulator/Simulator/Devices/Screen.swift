import Contracts

/// What a phone shows of what it got: alerts by collapse id, with the text that was sent or with
/// what the app's Notification Service Extension put in its place.
///
/// Source: Apple's pages "Modifying content in newly delivered notifications" and "Generating a
/// remote notification".
struct Screen: Sendable {
    /// Whose text stands there.
    enum Text: String, Sendable {
        /// The one that was sent; the extension did not run.
        case original
        /// The extension's.
        case decrypted
        /// The extension is running; nothing is shown yet.
        case pending
        /// The one that was sent, since the extension took longer than 30 seconds.
        case timedOut = "timed_out"
    }

    struct Entry: Sendable {
        var notification: ReceivedNotification
        var text: Text
    }

    static let extensionMilliseconds: Int64 = 30_000

    /// Oldest first; a notification takes the place of an earlier one with its collapse id.
    private(set) var entries: [Entry] = []

    init(
        _ received: [ReceivedNotification],
        serviceExtension: ServiceExtension,
        at now: UnixMilliseconds
    ) {
        for notification in received {
            guard let deliveredAt = notification.deliveredAt,
                let payload = try? StrictJSON(parsing: notification.payload),
                let alert = Alert(payload)
            else { continue }
            let text: Text
            if !alert.isMutable || serviceExtension == .absent {
                text = .original
            } else if serviceExtension == .decrypts {
                text = .decrypted
            } else {
                let end = deliveredAt.milliseconds + Self.extensionMilliseconds
                text = now.milliseconds < end ? .pending : .timedOut
            }
            if let collapseID = notification.collapseID {
                entries.removeAll {
                    $0.notification.collapseID == collapseID
                        && $0.notification.topic == notification.topic
                }
            }
            entries.append(Entry(notification: notification, text: text))
        }
    }

    /// The part of a payload that decides whether something is shown.
    private struct Alert {
        /// The extension may change it.
        var isMutable: Bool

        /// Nil when the payload shows nothing.
        init?(_ payload: StrictJSON) {
            guard let aps = payload["aps"], let alert = aps["alert"] else { return nil }
            let texts = ["title", "subtitle", "body", "loc-key", "title-loc-key"]
            let isText = alert.text?.isEmpty == false
            let hasText = texts.contains { alert[$0]?.text?.isEmpty == false }
            guard isText || hasText else { return nil }
            isMutable = hasText && aps["mutable-content"]?.safeInteger == 1
        }
    }
}
