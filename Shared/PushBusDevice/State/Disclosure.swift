/// What people are told before anything is sent anywhere: what the publisher's Relay gets to see, and
/// what is risky about a public endpoint.
package enum Disclosure {
    /// Grows when what it says changes; then it is shown again.
    package static let version = 1

    /// What the Relay sees, in the order it is shown.
    package static let seenByRelay: [TextKey] = [
        .disclosureToken, .disclosureEnvironment, .disclosureSourceAddress, .disclosureTiming,
        .disclosureSize, .disclosureEvent, .disclosureKeyID, .disclosureIdentity,
        .disclosureCiphertext,
    ]

    /// Title, introduction, the list, and the risk of the public endpoint.
    package static func page(_ language: Language) -> [String] {
        let text = TextTable(language)
        return [text[.disclosureTitle], text[.disclosureIntroduction]]
            + seenByRelay.map { "• " + text[$0] }
            + [text[.disclosurePublicEndpoint]]
    }
}
