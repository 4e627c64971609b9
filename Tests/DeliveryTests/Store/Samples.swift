import Contracts
import DeliveryCore
import DeliveryService
import FoundationEssentials
import TestKit

enum Samples {
    /// The start of every manual clock, in seconds.
    static let start: Int64 = 1_800_000_000

    static func event(_ number: Int) -> EventID {
        EventID(hash: Array(repeating: UInt8(truncatingIfNeeded: number), count: 15) + [7])
            ?? EventID(UUID())
    }

    /// The mark is what erasure tests look for in files.
    static let mark = Array("ciphertext-mark-51aa".utf8)

    static func envelope(_ number: Int) -> Envelope {
        Envelope(
            keyID: KeyID(hash: Array(repeating: UInt8(truncatingIfNeeded: number), count: 16))
                ?? KeyID(UUID()),
            identity: String(repeating: "0a", count: 32),
            nonce: Blob(Array(repeating: UInt8(truncatingIfNeeded: number), count: 12)),
            ciphertext: Blob(mark + Array(repeating: 1, count: 200))
        )
    }

    static func installation(_ number: Int) -> InstallationID {
        let digits = String(number)
        return InstallationID("phone-" + String(repeating: "0", count: 6 - digits.count) + digits)
    }

    static func batch(
        _ event: Int,
        _ installations: Range<Int>,
        category: Contracts.Category = .alert,
        createdAt: Int64 = start,
        lifetime: Int64 = 1800
    ) -> DeliveryEnqueue {
        DeliveryEnqueue(
            eventID: Self.event(event),
            category: category,
            createdAt: UnixSeconds(createdAt),
            expiresAt: UnixSeconds(createdAt + lifetime),
            watermark: 40,
            records: installations.map {
                DeliveryEnqueue.Record(
                    installationID: installation($0),
                    binding: 3,
                    envelope: envelope($0)
                )
            }
        )
    }
}

extension RowOutcome {
    init(_ row: ClaimedRow, _ change: RowChange, cleanup: CleanupNote? = nil) {
        self.init(
            rowID: row.lease.rowID,
            generation: row.lease.generation,
            change: change,
            cleanup: cleanup
        )
    }
}

extension DeliveryStore {
    /// Rows of a state by the counters that operators see.
    func count(_ state: ReceiptState) async throws -> Int64 {
        try await status().states.first { $0.state == state }?.rows ?? -1
    }

    /// Every receipt that matches, over all pages.
    func allReceipts(_ query: ReceiptQuery) async throws -> [ReceiptQueryAnswer.Receipt] {
        var query = query
        var receipts: [ReceiptQueryAnswer.Receipt] = []
        while true {
            let page = try await self.receipts(query)
            receipts += page.receipts
            guard let next = page.next else { return receipts }
            query.after = next
        }
    }
}
