import Bus
import Contracts

/// Feeds bytes to the decoders of bus bodies; whatever comes, they answer with a value or a reject.
enum BusBodies {
    /// Request types whose bodies come from other processes, packed ones first.
    static let types: [any BusMessage.Type] = [
        DeliveryEnqueue.self, RelaySend.self, RelayVerdicts.self, EligibilityCheck.self,
        EligibilityCheckAnswer.self, AudiencePage.self, AudiencePageAnswer.self,
        DeliveryEnqueueAnswer.self, EventPublish.self, EventAdmitted.self, FanoutProgress.self,
        RegistrationCleanup.self, ReceiptQuery.self, Reject.self, UserAdd.self,
    ]

    /// Decodes as one type in one form and, if that worked, writes it and decodes it again.
    static func tryOne(_ type: any BusMessage.Type, _ content: BodyContent, _ body: [UInt8]) {
        attempt(type, content, body)
    }

    private static func attempt<Message: BusMessage>(
        _ type: Message.Type,
        _ content: BodyContent,
        _ body: [UInt8]
    ) {
        guard let message = try? BusCodec.decode(type, content, body) else { return }
        for form in [BodyContent.json, .messagePack] {
            guard let written = try? BusCodec.encode(message, form) else { continue }
            let again = try? BusCodec.decode(type, written.content, written.body)
            precondition(again != nil, "\(Message.type) does not read what it wrote")
        }
    }

    /// Two bytes choose type and form, the rest is the body.
    static func tryInput(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= 2 else { return }
        let content: BodyContent = bytes[1].isMultiple(of: 2) ? .json : .messagePack
        tryOne(types[Int(bytes[0]) % types.count], content, Array(bytes[2...]))
    }
}
