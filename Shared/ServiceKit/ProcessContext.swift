import Loop

/// What every process has and its assembly hands on to its services.
package struct ProcessContext: Sendable {
    /// The name of the process, `delivery`.
    package let name: String
    /// The version of the program, not of any wire format.
    package let version: String
    package let log: Log
    package let metrics: Metrics
    /// Declare conditions while assembling: `ready` is said as soon as all that are known hold.
    package let readiness: Readiness
    /// Listeners put their ports here; a supervisor reads them from the ready file.
    package let ports: BoundPorts
    package let time: any TimeSource
    package let random: RandomSource
    /// Raise it to stop the whole process in order.
    package let stop: StopSignal

    package init(
        name: String,
        version: String = ProcessMain.version,
        log: Log,
        metrics: Metrics = Metrics(),
        readiness: Readiness = Readiness(),
        ports: BoundPorts = BoundPorts(),
        time: any TimeSource = SystemTime(),
        random: RandomSource = .system,
        stop: StopSignal = StopSignal()
    ) {
        self.name = name
        self.version = version
        self.log = log
        self.metrics = metrics
        self.readiness = readiness
        self.ports = ports
        self.time = time
        self.random = random
        self.stop = stop
    }
}

/// The TCP ports this process really listens at, by listener name (`http`, `admin`).
package final class BoundPorts: Sendable {
    private let ports = Locked<[String: UInt16]>([:])

    package init() {}

    /// Notes the port of a listener.
    package func set(_ listener: String, _ port: UInt16) {
        ports.withLock { $0[listener] = port }
    }

    /// All ports noted so far.
    package var all: [String: UInt16] {
        ports.withLock { $0 }
    }
}
