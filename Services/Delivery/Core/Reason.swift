/// The words Delivery itself gives as reasons; a relay's and the provider's own words are kept as
/// they come, as long as they are words.
package enum Reason {
    /// A relay or fanout gave as its reason what is none: it may be long, or hold a token.
    package static let unnamed = "UnnamedReason"

    /// The word of a relay that may go into receipts and logs: a capital letter, then letters, digits,
    /// `_` or `-`, 64 in all. Device tokens are lowercase, so none passes.
    package static func relayed(_ word: String) -> String {
        let isWord =
            (1...64).contains(word.utf8.count)
            && word.utf8.first.map { (0x41...0x5a).contains($0) } ?? false
            && word.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5a).contains($0)
                    || (0x61...0x7a).contains($0) || $0 == 0x5f || $0 == 0x2d
            }
        return isWord ? word : unnamed
    }

    /// The word of a fanout for why it could not seal: letters and `_`, 64 in all. A token or a key has
    /// digits, so none passes.
    package static func sealing(_ word: String) -> String {
        let isWord =
            (1...64).contains(word.utf8.count)
            && word.utf8.allSatisfy {
                (0x41...0x5a).contains($0) || (0x61...0x7a).contains($0) || $0 == 0x5f
            }
        return isWord ? word : unnamed
    }

    /// The row's time ended before it was accepted.
    package static let expired = "Expired"
    /// Registration said that the installation may not receive it; what changed follows the slash.
    package static func ineligible(_ word: String) -> String { "Ineligible/\(word)" }
    /// The process died several times while it sent this row alone.
    package static let quarantined = "Quarantined"
    /// An operator ended it while it waited.
    package static let cancelled = "Cancelled"
    /// Registration did not say whether the installation may still receive it.
    package static let eligibilityUnknown = "EligibilityUnknown"
    /// No relay is connected, or none answered before the request was handed over.
    package static let relayUnreachable = "RelayUnreachable"
    /// The relay took the message and did not say what became of it.
    package static let relayNoVerdict = "RelayNoVerdict"
    /// The relay's clock or the provider called it expired although its time has not come.
    package static let relayClock = "RelayClock"
    /// Given back unsent: a peer went away or the process stops.
    package static let handedBack = "HandedBack"
    /// Held back because its provider, topic or relay is paused.
    package static let paused = "Paused"
    /// The envelope in the store could not be read.
    package static let unreadable = "Unreadable"
    /// The relay has no credentials; treated as a pause whatever the outcome.
    package static let relayNotConfigured = "RelayNotConfigured"
    /// The relay refused the shape of a message that our own check had passed.
    package static let invalidRequest = "InvalidRequest"
}
