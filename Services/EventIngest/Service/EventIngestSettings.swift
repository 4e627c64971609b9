import Bus
import EventIngestCore
import HTTPServer
import ServiceKit
import Storage

/// The settings of one EventIngest process.
package struct EventIngestSettings: Sendable {
    package var bind: BusEndpoint
    package var security: BusSecurity
    package var registration: BusEndpointSource
    package var fanout: BusEndpointSource
    package var store: StoreLocation
    package var limits: EventStoreLimits
    package var pipeline: PipelineLimits
    package var unknownRules: UnknownRules
    /// The folder of the time zone data.
    package var zoneinfo: String
    /// Where integrators publish over HTTP; nil leaves the door closed.
    package var http: HTTPServerConfiguration?

    package init(
        bind: BusEndpoint,
        security: BusSecurity = .trustedDirectory,
        registration: BusEndpointSource,
        fanout: BusEndpointSource,
        store: StoreLocation,
        limits: EventStoreLimits = EventStoreLimits(),
        pipeline: PipelineLimits = PipelineLimits(),
        unknownRules: UnknownRules = .admit,
        zoneinfo: String = ZoneDatabase.systemFolder,
        http: HTTPServerConfiguration? = nil
    ) {
        self.bind = bind
        self.security = security
        self.registration = registration
        self.fanout = fanout
        self.store = store
        self.limits = limits
        self.pipeline = pipeline
        self.unknownRules = unknownRules
        self.zoneinfo = zoneinfo
        self.http = http
    }

    /// Reads everything and throws all bad values together.
    package init(_ reader: inout EnvironmentReader) throws(ConfigurationErrors) {
        let bus = BusSettings(&reader)
        let bind = bus.bind(&reader)
        let registration = bus.peers("REGISTRATION", &reader, help: "where Registration is")
        let fanout = bus.peers("FANOUT", &reader, help: "where the Fanouts are")
        let store = reader.storeLocation(help: "where events are kept")
        let open = reader.int(
            "OPEN_EVENTS",
            default: 10_000,
            in: 1...1_000_000,
            help: "events that may wait for their fan-out before publishers are asked to wait"
        )
        let days = reader.int(
            "RETENTION_DAYS",
            default: 7,
            in: 1...366,
            help: "days for which source, id and verdict of an event are kept"
        )
        let handed = reader.int(
            "HANDED_OUT",
            default: 64,
            in: 1...4096,
            help: "events that are at Fanouts at the same time"
        )
        let unknownRules = reader.value(
            "UNKNOWN_RULES",
            default: UnknownRules.admit.rawValue,
            help: "what becomes of alerts whose rule nobody has added: admit or refuse"
        ) { text throws(SettingError) in
            guard let value = UnknownRules(rawValue: text) else {
                throw SettingError("has to be admit or refuse")
            }
            return value
        }
        let zoneinfo = reader.optionalPath(
            "ZONEINFO",
            help: "folder of the time zone data (/usr/share/zoneinfo)"
        )
        let http = HTTPServerConfiguration.read(
            &reader,
            help: "address and port for integrators (POST /v1/events), port 0 for any"
        )
        try reader.finish()
        self.init(
            bind: bind,
            security: bus.security,
            registration: registration,
            fanout: fanout,
            // `finish()` has thrown when there is none.
            store: store ?? .sqlite(path: ""),
            limits: EventStoreLimits(openEvents: open, retentionSeconds: Int64(days) * 86_400),
            pipeline: PipelineLimits(handedOut: handed),
            unknownRules: unknownRules,
            zoneinfo: zoneinfo ?? ZoneDatabase.systemFolder,
            http: http
        )
    }
}
