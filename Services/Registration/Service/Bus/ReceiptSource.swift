import Bus
import Contracts
import RegistrationCore

/// Where the fate of a test notification is known.
package protocol ReceiptSource: Sendable {
    /// Nil when there is no row for it.
    func receipt(of test: TestNotification) async throws -> ReceiptQueryAnswer.Receipt?
}

/// Asks Delivery.
package struct DeliveryReceipts: ReceiptSource {
    private let client: BusClient
    private let timeout: Duration

    package init(client: BusClient, timeout: Duration = .seconds(5)) {
        self.client = client
        self.timeout = timeout
    }

    package func receipt(of test: TestNotification) async throws -> ReceiptQueryAnswer.Receipt? {
        let query = ReceiptQuery(
            eventID: test.eventID,
            installationID: test.installationID,
            limit: 1
        )
        let answer = try await client.ask(query, timeout: timeout, resendEvery: .seconds(2))
        return answer.receipts.first {
            $0.eventID == test.eventID && $0.installationID == test.installationID
        }
    }
}
