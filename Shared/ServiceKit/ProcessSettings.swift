import HTTPServer

/// The settings every process has.
struct ProcessSettings {
    let logLevel: LogLevel
    let readyFile: String?
    let admin: HostAndPort?

    init(_ reader: inout EnvironmentReader) {
        logLevel = reader.value(
            "LOG_LEVEL",
            default: "info",
            help: "lowest level that is logged: debug, info, warning or error"
        ) { raw in
            guard let level = LogLevel(name: raw) else {
                throw SettingError("has to be debug, info, warning or error")
            }
            return level
        }
        readyFile = reader.optionalPath(
            "READY_FILE",
            help: "file that is written, with the ports in it, once the process has started"
        )
        admin = reader.optionalValue(
            "ADMIN",
            help: "loopback address and port of /healthz, /readyz and /metrics, port 0 for any"
        ) { raw in
            let address = try HostAndPort(parsing: raw)
            guard address.isLoopback else {
                throw SettingError("has to be an address of this host only, such as 127.0.0.1:0")
            }
            return address
        }
    }

    /// The services every process has, started before its own and stopped after them.
    func services(_ context: ProcessContext) -> [any Service] {
        admin.map { [AdminServer(address: $0, context: context)] } ?? []
    }
}
