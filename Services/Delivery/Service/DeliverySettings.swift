import Bus
import Contracts
import ServiceKit

/// The settings of one Delivery process.
package struct DeliverySettings: Sendable {
    package var bus: BusSettings
    package var bind: BusEndpoint
    package var registration: BusEndpointSource
    package var relay: BusEndpointSource
    package var storePath: String
    package var outbox: OutboxLimits
    package var worker: WorkerLimits

    /// Reads everything and throws all bad values together.
    package init(_ reader: inout EnvironmentReader) throws(ConfigurationErrors) {
        bus = BusSettings(&reader)
        bind = bus.bind(&reader)
        registration = bus.peers("REGISTRATION", &reader, help: "where Registration is")
        relay = bus.peers("RELAY", &reader, help: "where the relays are")
        let path = reader.store(help: "where the outbox is kept")
        outbox = OutboxLimits(
            openRows: Int64(
                reader.int(
                    "OPEN_ROWS",
                    default: 2_000_000,
                    in: 1000...100_000_000,
                    help: "rows that may wait before senders are asked to come back"
                )
            )
        )
        var worker = WorkerLimits()
        worker.window = reader.int(
            "WINDOW",
            default: worker.window,
            in: 1...65_536,
            help: "rows that are being checked and sent at the same time"
        )
        let days = reader.int(
            "RETENTION_DAYS",
            default: 2,
            in: 1...366,
            help: "days for which receipts are kept after the end of their event"
        )
        worker.retention = .seconds(Int64(days) * 86_400)
        self.worker = worker
        try reader.finish()
        guard let path else { throw ConfigurationErrors(problems: []) }
        storePath = path
    }
}
