import Bus
import ServiceKit

/// The settings of one EventIngest process.
package struct EventIngestSettings: Sendable {
    package var bind: BusEndpoint
    package var registration: BusEndpointSource
    package var fanout: BusEndpointSource
    package var storePath: String
    package var store: EventStoreLimits
    package var pipeline: PipelineLimits

    package init(
        bind: BusEndpoint,
        registration: BusEndpointSource,
        fanout: BusEndpointSource,
        storePath: String,
        store: EventStoreLimits = EventStoreLimits(),
        pipeline: PipelineLimits = PipelineLimits()
    ) {
        self.bind = bind
        self.registration = registration
        self.fanout = fanout
        self.storePath = storePath
        self.store = store
        self.pipeline = pipeline
    }

    /// Reads everything and throws all bad values together.
    package init(_ reader: inout EnvironmentReader) throws(ConfigurationErrors) {
        let bind = reader.requiredValue(
            "BIND",
            help: "endpoint of this process, ipc:///path or tcp://host:port"
        ) { try BusEndpoint(parsing: $0) }
        let registration = reader.requiredValue(
            "REGISTRATION",
            help: "endpoint of Registration, a list of them, or @/path of a file of them"
        ) { try BusEndpointSource(parsing: $0) }
        let fanout = reader.requiredValue(
            "FANOUT",
            help: "endpoints of the Fanouts, separated by commas, or @/path of a file of them"
        ) { try BusEndpointSource(parsing: $0) }
        let path = reader.requiredValue(
            "STORE",
            help: "where events are kept: sqlite:/absolute/path"
        ) { try Self.sqlitePath($0) }
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
        try reader.finish()
        guard let bind, let registration, let fanout, let path else {
            throw ConfigurationErrors(problems: [])
        }
        self.init(
            bind: bind,
            registration: registration,
            fanout: fanout,
            storePath: path,
            store: EventStoreLimits(openEvents: open, retentionSeconds: Int64(days) * 86_400),
            pipeline: PipelineLimits(handedOut: handed)
        )
    }

    private static func sqlitePath(_ text: String) throws(SettingError) -> String {
        let prefix = "sqlite:"
        let path = String(text.dropFirst(prefix.count))
        guard text.hasPrefix(prefix), path.hasPrefix("/"), !path.hasSuffix("/") else {
            throw SettingError("has to be sqlite:/absolute/path of a file")
        }
        return path
    }
}
