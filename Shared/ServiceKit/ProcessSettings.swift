/// The settings every process has.
struct ProcessSettings {
    let logLevel: LogLevel
    let readyFile: String?

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
            help: "file that is written, with the ports in it, once the process is ready"
        )
    }

    /// The services every process has, started before its own and stopped after them.
    func services(_ context: ProcessContext) -> [any Service] {
        []
    }
}
