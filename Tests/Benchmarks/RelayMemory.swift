import Bus
import Contracts
import FoundationEssentials
import Glibc
import Loop
import ServiceKit
import Topology

/// The Relay's proportional set size, idle and while it sends as fast as the simulator takes it.
struct RelayMemory {
    static let idleMiB = 28.0
    static let loadedMiB = 64.0
    /// With ``streams``: the whole credit of a principal, 4,096 messages under way at all times.
    private static let batch = 256
    private static let streams = 16

    private let options: BenchOptions

    init(_ options: BenchOptions) { self.options = options }

    func run(_ folder: BenchFolder, _ report: BenchReport) async throws {
        let simulator = try SimulatorProcess(folder, .wide)
        defer { simulator.stop() }
        let stage = try Supervisor(log: .silent)
        do {
            try stage.add([try plan(folder, simulator)])
            try stage.startAll()
            try await stage.waitUntilAllReady(within: .seconds(30))
            guard let pid = stage.processID(of: "relay") else {
                throw BenchFailure("the relay has ended")
            }
            // What the start needed is given back within moments.
            try await Task.sleep(for: .seconds(1))
            let idle = try ProcessFigures.memoryMiB(pid)
            try await load(folder, pid, report)
            report.result(
                "relay.idle",
                value: idle,
                unit: "MiB",
                reference: Self.idleMiB,
                ratio: idle / Self.idleMiB,
                against: "allowed",
                bar: .atMost(1)
            )
            await stage.stopAll()
        } catch {
            await stage.stopAll()
            throw error
        }
    }

    private func plan(_ folder: BenchFolder, _ simulator: SimulatorProcess) throws -> ProcessPlan {
        let credentials = try SimulatorCredentials(folder: simulator.directory)
        return ProcessPlan(
            name: "relay",
            executable: try ExternalProgram.sibling("pushbus-relay"),
            environment: [
                "PUSHBUS_RELAY_BIND": "ipc://\(folder.file("relay.sock"))",
                "PUSHBUS_RELAY_READY_FILE": folder.file("relay.ready"),
                "PUSHBUS_RELAY_APNS_TEAM_ID": credentials.team_id,
                "PUSHBUS_RELAY_APNS_KEY_ID": credentials.key_id,
                "PUSHBUS_RELAY_APNS_KEY_FILE": credentials.key_file,
                "PUSHBUS_RELAY_APNS_TOPIC": "app.example",
                "PUSHBUS_RELAY_APNS_CA_FILE": simulator.target.authorityFile,
                "PUSHBUS_RELAY_APNS_SANDBOX_ORIGIN": "localhost:\(simulator.target.port)",
                "PUSHBUS_RELAY_APNS_PRODUCTION_ORIGIN": "localhost:\(simulator.target.port)",
            ],
            readyFile: folder.file("relay.ready"),
            output: .file(folder.file("relay.log"))
        )
    }

    /// Sends from several streams at once and keeps the largest size seen.
    private func load(_ folder: BenchFolder, _ pid: Int32, _ report: BenchReport) async throws {
        let bus = try BusRuntime(log: .silent)
        defer { bus.stop() }
        let client = try BusClient(
            runtime: bus,
            name: "bench",
            endpoints: .fixed([try BusEndpoint(parsing: "ipc://\(folder.file("relay.sock"))")]),
            window: 64,
            metrics: Metrics(),
            log: .silent
        )
        defer { client.stop() }
        let batches = max(4, options.requests / Self.batch / Self.streams)
        let largest = Locked(0.0)
        let start = ContinuousClock.now
        let accepted = try await withThrowingTaskGroup(of: Int.self) { group in
            for stream in 0..<Self.streams {
                group.addTask { try await Self.send(batches, stream, client) }
            }
            let watch = Task {
                while (try? await Task.sleep(for: .milliseconds(100))) != nil {
                    let size = try ProcessFigures.memoryMiB(pid)
                    largest.withLock { $0 = max($0, size) }
                }
            }
            defer { watch.cancel() }
            return try await group.reduce(0, +)
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let total = batches * Self.batch * Self.streams
        guard accepted == total else {
            throw BenchFailure("\(total - accepted) of \(total) messages were not accepted")
        }
        let size = max(largest.withLock { $0 }, try ProcessFigures.memoryMiB(pid))
        report.result("relay.rate", value: Double(total) / seconds, unit: "messages/s")
        report.result(
            "relay.loaded",
            value: size,
            unit: "MiB",
            reference: Self.loadedMiB,
            ratio: size / Self.loadedMiB,
            against: "allowed",
            bar: .atMost(1)
        )
    }

    private static func send(_ batches: Int, _ stream: Int, _ client: BusClient) async throws -> Int
    {
        let accepted = Locked(0)
        for batch in 0..<batches {
            let messages = try (0..<Self.batch).map {
                try message(stream * 1_000_000 + batch * Self.batch + $0)
            }
            try await client.stream(RelaySend(messages: messages), timeout: .seconds(60)) {
                answer in
                let good = answer.verdicts.count { $0.outcome == .accepted }
                accepted.withLock { $0 += good }
                return !answer.last
            }
        }
        return accepted.withLock { $0 }
    }

    /// A sealed message of the usual size to a token of its own.
    private static func message(_ number: Int) throws -> RelaySend.Message {
        let digits = String(number, radix: 16)
        let token = String(repeating: "0", count: 64 - digits.utf8.count) + digits
        guard let deviceToken = DeviceToken(token),
            let event = EventID(UUID().uuidString.lowercased()),
            let key = KeyID("22222222-2222-4222-8222-222222222222")
        else { throw BenchFailure("no message") }
        return RelaySend.Message(
            deviceToken: deviceToken,
            environment: .production,
            eventID: event,
            expiresAt: UnixSeconds(Int64(time(nil)) + 1_700),
            envelope: Envelope(
                keyID: key,
                identity: String(repeating: "a", count: 64),
                nonce: Blob(Array(0..<12)),
                ciphertext: Blob([UInt8](repeating: 7, count: 900))
            ),
            isYoung: false
        )
    }
}
