import Contracts

/// The notification service extension's side: a payload in, what to show out, over the shared
/// store. It needs no session and no network, and writes nothing but the log of what was shown.
package struct NotificationReceiver: Sendable {
    package let opener: NotificationOpener
    private let store: any DeviceStore

    package init(opener: NotificationOpener, store: any DeviceStore) {
        self.opener = opener
        self.store = store
    }

    /// Opens one delivery and commits that it is shown before it returns, so that a repeat stays
    /// silent after a restart too. If the extension ends in between, the system shows the generic
    /// text that was pushed.
    ///
    /// With storage that cannot be read the generic text is shown.
    package func receive(payload: [UInt8], now: UnixSeconds) -> Opening {
        let recipient: Recipient?
        let keyring: ContentKeyring?
        do throws(DeviceError) {
            recipient = try store.value(.recipient)
            keyring = try store.value(.keys)
        } catch {
            return .generic(
                opener.genericBanner,
                reason: .storage,
                eventID: nil,
                target: nil
            )
        }
        // A damaged log costs repeats, not notifications.
        var shown = (try? store.value(.shown, as: ShownLog.self)) ?? ShownLog()
        let before = shown
        let opening = opener.open(
            payload: payload,
            recipient: recipient?.identity,
            keyring: keyring,
            shown: &shown,
            now: now
        )
        if shown != before { try? store.store(shown, .shown) }
        return opening
    }

    /// Where a late tap on an event that was shown leads; nil when nothing is known of it.
    package func target(of eventID: EventID) -> TapTarget? {
        (try? store.value(.shown, as: ShownLog.self))?.target(of: eventID)
    }
}
