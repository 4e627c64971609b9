/// Where the phone keeps its state; the app implements it.
///
/// Every item is small and replaced as a whole, and has one writer: `shown` the notification service
/// extension, everything else the app.
package protocol DeviceStore: Sendable {
    /// The bytes last written; nil when there are none.
    func read(_ item: DeviceItem) throws -> [UInt8]?
    /// Replaces the item durably, or not at all, under the protection of ``DeviceItem/protection``;
    /// nil removes it.
    func write(_ bytes: [UInt8]?, _ item: DeviceItem) throws
    /// Runs `body` while no other process runs one over the same storage. An app that is the only
    /// process to use ``PushDevice`` has nothing to do here.
    func exclusively(_ body: () -> Void) throws
}

extension DeviceStore {
    package func exclusively(_ body: () -> Void) throws { body() }
}

/// What is stored. The extension needs the recipient, the keys and the log, never the state.
package enum DeviceItem: String, CaseIterable, Sendable {
    /// The name of this installation.
    case installation
    /// The login with its tokens, deletion proofs, what people chose, where the registration stands.
    case state
    /// Deployment, account and installation of the login.
    case recipient
    /// The content keys.
    case keys
    /// What was shown.
    case shown

    /// How an item is to be kept.
    package struct Protection: Hashable, Sendable {
        /// Never in a backup, never on another device.
        package var isThisDeviceOnly: Bool
        /// Belongs into the Keychain or what the platform has instead.
        package var isSecret: Bool
        /// The notification service extension reads it, also while the phone is locked.
        package var isShared: Bool
    }

    /// Nothing may reach another device: two phones of one installation, one session or one key
    /// would take each other's notifications.
    package var protection: Protection {
        Protection(
            isThisDeviceOnly: true,
            isSecret: self == .state || self == .keys,
            isShared: self == .recipient || self == .keys || self == .shown
        )
    }
}
