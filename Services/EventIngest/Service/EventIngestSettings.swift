import Bus
import EventIngestCore
import HTTPServer
import ServiceKit

/// The settings of one EventIngest process.
package struct EventIngestSettings: Sendable {
    package var bind: BusEndpoint
    package var security: BusSecurity
    package var registration: BusEndpointSource
    package var fanout: BusEndpointSource
    package var storePath: String
    package var store: EventStoreLimits
    package var pipeline: PipelineLimits
    package var unknownRules: UnknownRules
    /// Where integrators publish over HTTP; nil leaves the door closed.
    package var http: HTTPServerConfiguration?

    package init(
        bind: BusEndpoint,
        security: BusSecurity = .trustedDirectory,
        registration: BusEndpointSource,
        fanout: BusEndpointSource,
        storePath: String,
        store: EventStoreLimits = EventStoreLimits(),
        pipeline: PipelineLimits = PipelineLimits(),
        unknownRules: UnknownRules = .admit,
        http: HTTPServerConfiguration? = nil
    ) {
        self.bind = bind
        self.security = security
        self.registration = registration
        self.fanout = fanout
        self.storePath = storePath
        self.store = store
        self.pipeline = pipeline
        self.unknownRules = unknownRules
        self.http = http
    }

    /// Reads everything and throws all bad values together.
    package init(_ reader: inout EnvironmentReader) throws(ConfigurationErrors) {
        let bus = BusSettings(&reader)
        let bind = bus.bind(&reader)
        let registration = bus.peers("REGISTRATION", &reader, help: "where Registration is")
        let fanout = bus.peers("FANOUT", &reader, help: "where the Fanouts are")
        let path = reader.store(help: "where events are kept")
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
        let http = Self.http(&reader)
        try reader.finish()
        self.init(
            bind: bind,
            security: bus.security,
            registration: registration,
            fanout: fanout,
            // `finish()` has thrown when there is no path.
            storePath: path ?? "",
            store: EventStoreLimits(openEvents: open, retentionSeconds: Int64(days) * 86_400),
            pipeline: PipelineLimits(handedOut: handed),
            unknownRules: unknownRules,
            http: http
        )
    }
}
