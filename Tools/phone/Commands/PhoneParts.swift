import Commands
import Contracts
import HTTPClient
import Loop
import PushBusDevice
import ServiceKit

/// What every command of the phone is made of.
struct PhoneParts: Sendable {
    let store: FileStore
    let client: HTTPClient
    let system: PhoneSystem
    let device: PushDevice

    static let directoryOption = Command.Option.value(
        "--directory",
        "DIR",
        "where the phone keeps its state (files of mode 0600)"
    )
    static let jsonOption = Command.Option.flag("--json", "print one JSON object a line")
    static let languageOption = Command.Option.value(
        "--language",
        "NAME",
        "en or zh-Hans (default en)"
    )

    init(
        directory: String,
        installation: InstallationID?,
        simulator: (address: String, environment: APNsEnvironment)? = nil,
        lookup: PhoneSystem.LookupAnswer = .available
    ) throws {
        let store = try Self.store(directory)
        self.store = store
        let client = try HTTPClient()
        self.client = client
        system = PhoneSystem(
            store: store,
            simulator: simulator.map {
                SimulatorClient(address: $0.address, client: client, environment: $0.environment)
            },
            answer: lookup
        )
        let time = SystemTime()
        do throws(DeviceError) {
            device = try PushDevice(
                installationID: installation,
                environment: PushDevice.Environment(
                    transport: CurlTransport(client: client),
                    store: store,
                    permission: system,
                    tokens: system,
                    targets: system,
                    now: { time.wall },
                    random: { RandomSource.system.bytes($0) }
                )
            )
        } catch {
            throw Self.failure(error)
        }
    }

    /// The parts of a phone that was used before.
    static func existing(
        _ arguments: Arguments,
        lookup: PhoneSystem.LookupAnswer = .available
    ) throws -> PhoneParts {
        let directory = try arguments.required("--directory")
        guard try Self.store(directory).read(DeviceItem.installation) != nil else {
            throw CommandFailure("there is no phone in \(directory): 'phone login' makes one")
        }
        return try PhoneParts(directory: directory, installation: nil, lookup: lookup)
    }

    private static func store(_ directory: String) throws(CommandFailure) -> FileStore {
        do throws(FileStore.Failure) { return try FileStore(directory: directory) } catch {
            throw CommandFailure("\(error)", exitCode: ExitCode.files)
        }
    }

    static func language(_ arguments: Arguments) throws(UsageError) -> Language {
        try arguments.value("--language", "en or zh-Hans", Language.init(rawValue:)) ?? .english
    }

    /// Turns an error of the device into one of the command line.
    static func failure(_ error: DeviceError) -> CommandFailure {
        let code =
            error.isRetriable
            ? ExitCode.unavailable : error.code == .storage ? ExitCode.files : ExitCode.failure
        return CommandFailure("\(error)", exitCode: code)
    }

    /// Runs what asks the device, and turns its errors.
    static func run<Value>(
        _ body: () async throws(DeviceError) -> Value
    ) async throws(CommandFailure) -> Value {
        do throws(DeviceError) { return try await body() } catch { throw failure(error) }
    }
}
