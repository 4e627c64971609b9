import Bus
import Contracts
import DeliveryCore
import FoundationEssentials
import ServiceKit
import Storage

/// The settings of one Delivery process.
package struct DeliverySettings: Sendable {
    package var bus: BusSettings
    package var bind: BusEndpoint
    package var announcement: EndpointFile?
    package var registration: BusEndpointSource
    package var relay: RelayWay
    package var store: StoreLocation
    package var outbox: OutboxLimits
    package var worker: WorkerLimits

    /// Reads everything and throws all bad values together.
    package init(_ reader: inout EnvironmentReader) throws(ConfigurationErrors) {
        bus = BusSettings(&reader)
        bind = bus.bind(&reader)
        announcement = bus.announcement(&reader)
        registration = bus.peers("REGISTRATION", &reader, help: "where Registration is")
        relay = Self.relay(&reader, bus)
        let store = reader.storeLocation(help: "where the outbox is kept")
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
        let lease = reader.int(
            "LEASE_SECONDS",
            default: 60,
            in: 10...600,
            help: "how long a claimed row belongs to this process; a stalled one is overtaken then"
        )
        worker.lease(for: .seconds(lease))
        let days = reader.int(
            "RETENTION_DAYS",
            default: 2,
            in: 1...366,
            help: "days for which receipts are kept after the end of their event"
        )
        worker.retention = .seconds(Int64(days) * 86_400)
        if case .http(_, _, let concurrent, _) = relay {
            worker.narrow(to: concurrent)
        }
        self.worker = worker
        try reader.finish()
        guard let store else { throw ConfigurationErrors(problems: []) }
        self.store = store
    }

    /// How the relay is reached.
    package enum RelayWay: Sendable {
        case bus(BusEndpointSource)
        /// A relay elsewhere; `caFile` names the only authorities to trust.
        case http(RelayAddress, caFile: String?, concurrent: Int, timeout: Duration)
    }

    private static func relay(_ reader: inout EnvironmentReader, _ bus: BusSettings) -> RelayWay {
        let peers = bus.optionalPeers("RELAY", &reader, help: "where the relays are")
        let address = reader.optionalValue(
            "RELAY_URL",
            help: "instead, the URL of a relay elsewhere (https; http for 127.0.0.1 with a port)"
        ) { text in
            guard let address = RelayAddress(text) else {
                throw SettingError("has to be an https URL, or http for 127.0.0.1 with a port")
            }
            return address
        }
        let caFile = reader.optionalValue(
            "RELAY_CA_FILE",
            help: "certificates (PEM) of the only authorities that may vouch for RELAY_URL"
        ) { path in
            guard path.hasPrefix("/"), FileManager.default.isReadableFile(atPath: path) else {
                throw SettingError("has to be the absolute path of a readable file")
            }
            return path
        }
        let concurrent = reader.int(
            "RELAY_CONCURRENT",
            default: 16,
            in: 1...256,
            help: "requests to RELAY_URL at the same time; a relay takes 32 unless told otherwise"
        )
        let timeout = reader.duration(
            "RELAY_TIMEOUT",
            default: .seconds(20),
            in: .milliseconds(100)...(.seconds(20)),
            help: "how long RELAY_URL may take for one message, connecting included"
        )
        switch (peers, address) {
        case (.some, .some):
            reader.reject("RELAY_URL", "cannot stand beside \(reader.prefix)RELAY; leave one out")
        case (.none, .none):
            reader.reject("RELAY", "is required unless \(reader.prefix)RELAY_URL is set")
        case (.some, .none):
            if caFile != nil { reader.reject("RELAY_CA_FILE", "is for RELAY_URL only") }
        case (.none, .some(let address)):
            return .http(address, caFile: caFile, concurrent: concurrent, timeout: timeout)
        }
        return .bus(peers ?? .fixed([]))
    }
}
