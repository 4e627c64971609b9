import Contracts

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Turns an APNs payload into what the phone shows; the notification service extension's decision.
///
/// Pure: keys, the log of what was shown and the time come in, the log goes out changed.
package struct NotificationOpener: Sendable {
    package let profile: AppProfile
    package let language: Language
    private let text: TextTable

    package init(profile: AppProfile = .reference, language: Language) {
        self.profile = profile
        self.language = language
        text = TextTable(language)
    }

    /// Bytes of the longest payload that is looked at (APNs allows 4096).
    package static let payloadLimit = 4096

    /// Decides about one delivery.
    ///
    /// The order is: envelope there and well-formed, key known, recipient right, authentic, not
    /// shown before, not outdated, not expired. What was opened is recorded, expired or not, so
    /// that its repeat stays silent.
    package func open(
        payload: [UInt8],
        recipient: EnvelopeIdentity?,
        keyring: ContentKeyring?,
        shown: inout ShownLog,
        now: UnixSeconds
    ) -> Opening {
        guard let recipient, let keyring else { return generic(.signedOut) }
        let plaintext: EnvelopePlaintext
        switch decrypt(payload, recipient: recipient, keyring: keyring, now: now) {
        case .success(let opened): plaintext = opened
        case .failure(let failure): return generic(failure.reason)
        }
        let eventID = plaintext.eventID
        if shown.contains(eventID) { return .silent(.repeated, eventID: eventID) }
        if shown.hasNewer(than: plaintext) { return .silent(.outdated, eventID: eventID) }
        shown.record(plaintext, at: now)
        let target = TapTarget(of: plaintext)
        if now >= plaintext.expiresAt {
            return .generic(genericBanner, reason: .expired, eventID: eventID, target: target)
        }
        return .content(banner(for: plaintext.content), eventID: eventID, target: target)
    }

    /// What is shown when nothing of the content can be.
    package var genericBanner: Banner {
        // English is what the publisher wrote, and what the system shows without the extension.
        if language == .english {
            return Banner(title: profile.fallbackTitle, body: profile.fallbackBody)
        }
        let values = ["app": profile.label]
        return Banner(
            title: text.filled(.genericTitle, values),
            body: text.filled(.genericBody, values)
        )
    }

    private func generic(_ reason: Opening.GenericReason) -> Opening {
        .generic(genericBanner, reason: reason, eventID: nil, target: nil)
    }

    private struct Failure: Error {
        var reason: Opening.GenericReason
    }

    private func decrypt(
        _ payload: [UInt8],
        recipient: EnvelopeIdentity,
        keyring: ContentKeyring,
        now: UnixSeconds
    ) -> Result<EnvelopePlaintext, Failure> {
        guard payload.count <= Self.payloadLimit else {
            return .failure(Failure(reason: .malformed))
        }
        let envelope: Envelope
        do {
            guard let found = try self.envelope(in: payload) else {
                return .failure(Failure(reason: .noEnvelope))
            }
            envelope = found
        } catch {
            return .failure(Failure(reason: .malformed))
        }
        guard envelope.version == 1 else { return .failure(Failure(reason: .unsupportedVersion)) }
        guard let key = keyring.key(envelope.keyID, at: now) else {
            return .failure(Failure(reason: .unknownKey))
        }
        return EnvelopeOpening.open(envelope, key: key, recipient: recipient).mapError {
            Failure(reason: Self.reason(of: $0))
        }
    }

    private func envelope(in payload: [UInt8]) throws -> Envelope? {
        struct Name: CodingKey {
            var stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }
        struct Payload: Decodable {
            var envelope: Envelope?

            static let keyName = CodingUserInfoKey(rawValue: "payload_key")

            init(from decoder: any Decoder) throws {
                let name = Self.keyName.flatMap { decoder.userInfo[$0] as? String } ?? ""
                let members = try decoder.container(keyedBy: Name.self)
                envelope = try members.decodeIfPresent(
                    Envelope.self,
                    forKey: Name(stringValue: name)
                )
            }
        }
        let decoder = JSONDecoder()
        if let keyName = Payload.keyName { decoder.userInfo[keyName] = profile.payloadKey }
        return try decoder.decode(Payload.self, from: Data(payload)).envelope
    }

    private static func reason(of failure: EnvelopeOpening.Failure) -> Opening.GenericReason {
        switch failure {
        case .unsupportedVersion: .unsupportedVersion
        case .otherRecipient: .otherRecipient
        case .malformed: .malformed
        case .authenticationFailed: .authenticationFailed
        }
    }
}
