/// Where the phone keeps its state; the app implements it, this device only and never in a backup.
///
/// On a phone the session and the keys belong into the Keychain, the keys and the log shared with
/// the notification service extension. Every item is small and replaced as a whole.
package protocol DeviceStore: Sendable {
    /// The bytes last written; nil when there are none.
    func read(_ item: DeviceItem) throws -> [UInt8]?
    /// Replaces the item durably, or not at all; nil removes it.
    func write(_ bytes: [UInt8]?, _ item: DeviceItem) throws
}

/// What is stored. The extension needs the recipient, the keys and the log, never the session.
package enum DeviceItem: String, CaseIterable, Sendable {
    /// The login with its tokens: secret.
    case session
    /// Deployment, account and installation of the login.
    case recipient
    /// The content keys: secret.
    case keys
    /// What was shown.
    case shown
}
