import Contracts
import FanoutCore
import PushBusCrypto

/// Seals one page; the keys live as long as the call.
enum PageSealer {
    /// One record for each recipient. A recipient that cannot be sealed gets a record that says
    /// why and is terminal at Delivery; it stops nobody else.
    @concurrent static func seal(
        _ page: AudiencePageAnswer,
        for event: EventAdmitted
    ) async -> SealedPage {
        // One question to the kernel for all of them.
        var nonces = SecureRandom.bytes(page.recipients.count * AESGCM.nonceBytes)[...]
        let records = page.recipients.map { recipient in
            let nonce = Array(nonces.prefix(AESGCM.nonceBytes))
            nonces = nonces.dropFirst(AESGCM.nonceBytes)
            return record(for: recipient, of: event, nonce: nonce)
        }
        return SealedPage(
            batches: SealedPage.split(records),
            last: page.last,
            more: page.more,
            skipped: page.skipped
        )
    }

    private static func record(
        for recipient: AudiencePageAnswer.Recipient,
        of event: EventAdmitted,
        nonce: [UInt8]
    ) -> DeliveryEnqueue.Record {
        func failed(_ reason: String) -> DeliveryEnqueue.Record {
            DeliveryEnqueue.Record(
                installationID: recipient.installationID,
                binding: recipient.binding,
                failure: reason
            )
        }
        guard let key = recipient.contentKey else { return failed("bad_content_key") }
        let plaintext = EnvelopePlaintext(
            identity: EnvelopeIdentity(
                deploymentID: recipient.deploymentID,
                userID: recipient.userID,
                installationID: recipient.installationID
            ),
            eventID: event.eventID,
            createdAt: event.createdAt,
            expiresAt: event.expiresAt,
            content: event.content
        )
        do throws(EnvelopeError) {
            let envelope = try EnvelopeSealer.seal(
                plaintext,
                key: key,
                keyID: recipient.keyID,
                nonce: nonce
            )
            return DeliveryEnqueue.Record(
                installationID: recipient.installationID,
                binding: recipient.binding,
                envelope: envelope
            )
        } catch {
            return failed(error.name)
        }
    }
}
