import Bus
import Contracts

/// Feeds bytes to the decoders of the bus, of headers and of bodies; whatever comes, they answer with a
/// value or a fault.
enum BusBodies {
    /// Every message of the bus, packed ones first.
    static let types: [any BusMessage.Type] = [
        AudiencePage.self, AudiencePageAnswer.self, DeliveryEnqueue.self,
        DeliveryEnqueueAnswer.self, EligibilityCheck.self, EligibilityCheckAnswer.self,
        RelaySend.self, RelayVerdicts.self, Ack.self, AudienceOpen.self, AudienceOpenAnswer.self,
        AuditQuery.self, AuditQueryAnswer.self, EventAdmitted.self, EventExplain.self,
        EventExplainAnswer.self, EventPublish.self, EventPublishAnswer.self, EventQuery.self,
        EventQueryAnswer.self, FanoutProgress.self, FanoutProgressAnswer.self,
        InstallationExplain.self, InstallationExplainAnswer.self, MasterKeyRotate.self,
        MasterKeyRotateAnswer.self, OutboxBackup.self, OutboxBackupAnswer.self, OutboxCancel.self,
        OutboxCancelAnswer.self, OutboxPurge.self, OutboxPurgeAnswer.self, OutboxRetry.self,
        OutboxRetryAnswer.self, OutboxStatus.self, OutboxStatusAnswer.self, PairingCreate.self,
        PairingCreateAnswer.self, PolicyChange.self, PolicyChangeAnswer.self, PolicyQuery.self,
        PolicyQueryAnswer.self, ReceiptQuery.self, ReceiptQueryAnswer.self,
        RegistrationBackup.self, RegistrationBackupAnswer.self, RegistrationCleanup.self,
        RegistrationCleanupAnswer.self, RegistrationRenewal.self, RegistrationRenewalAnswer.self,
        Reject.self, ServiceStatus.self, ServiceStatusAnswer.self, UserAdd.self,
        UserAddAnswer.self, UserDelete.self, UserDeleteAnswer.self, UserList.self,
        UserListAnswer.self, UserPasswordChange.self, UserPasswordChangeAnswer.self,
        UserRoleChange.self, UserRoleChangeAnswer.self, UserTOTPChange.self,
        UserTOTPChangeAnswer.self,
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

    /// A header that can be served is written and read again as the same one.
    static func tryHeader(_ frame: [UInt8]) {
        guard let header = try? BusHeaderCodec.read(frame) else { return }
        let again = try? BusHeaderCodec.read(BusHeaderCodec.write(header))
        precondition(again == header, "the header is not read as it was written")
    }

    /// Two bytes choose type and form, the rest is the body, or the header frame.
    static func tryInput(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= 2 else { return }
        let rest = Array(bytes[2...])
        switch bytes[1] % 3 {
        case 0: tryOne(types[Int(bytes[0]) % types.count], .json, rest)
        case 1: tryOne(types[Int(bytes[0]) % types.count], .messagePack, rest)
        default: tryHeader(rest)
        }
    }
}
