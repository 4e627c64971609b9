import Contracts

/// One page of an audience after sealing: what Delivery gets, and nothing that could open it.
package struct SealedPage: Hashable, Sendable {
    /// Records in installation order, each part small enough for one message of the bus.
    package var batches: [[DeliveryEnqueue.Record]]
    /// The last installation the page looked at, nil when it looked at none.
    package var last: InstallationID?
    /// Whether installations beyond `last` remain.
    package var more: Bool
    /// Installations left out, by reason.
    package var skipped: [String: Int64]

    package init(
        batches: [[DeliveryEnqueue.Record]],
        last: InstallationID?,
        more: Bool,
        skipped: [String: Int64]
    ) {
        self.batches = batches
        self.last = last
        self.more = more
        self.skipped = skipped
    }

    /// Bytes of records in one message, which leaves room for its own fields below 1 MiB.
    package static let batchBytes = 960 << 10

    /// Splits records into batches of at most 512 records and ``batchBytes`` bytes.
    package static func split(_ records: [DeliveryEnqueue.Record]) -> [[DeliveryEnqueue.Record]] {
        var batches: [[DeliveryEnqueue.Record]] = []
        var batch: [DeliveryEnqueue.Record] = []
        var bytes = 0
        for record in records {
            let size = record.largestBytes
            if !batch.isEmpty && (batch.count == BusLimits.records || bytes + size > batchBytes) {
                batches.append(batch)
                batch = []
                bytes = 0
            }
            batch.append(record)
            bytes += size
        }
        if !batch.isEmpty { batches.append(batch) }
        return batches
    }
}

extension DeliveryEnqueue.Record {
    /// Bytes it may take in a message in either form; base64 needs four for every three.
    var largestBytes: Int {
        let sealed = envelope.map { $0.ciphertext.bytes.count + $0.nonce.bytes.count } ?? 0
        return 320 + 2 * installationID.text.utf8.count + (failure?.utf8.count ?? 0)
            + (sealed + 2) / 3 * 4
    }
}
