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
    let device: PushDevice

    init(directory: String, installation: InstallationID) throws {
        do throws(FileStore.Failure) {
            store = try FileStore(directory: directory)
        } catch {
            throw CommandFailure("\(error)", exitCode: ExitCode.files)
        }
        client = try HTTPClient()
        let time = SystemTime()
        device = try PushDevice(
            installationID: installation,
            environment: PushDevice.Environment(
                transport: CurlTransport(client: client),
                store: store,
                now: { time.wall },
                random: { RandomSource.system.bytes($0) }
            )
        )
    }

    /// The parts of a phone that is signed in, without a word about which installation it is.
    static func signedIn(_ arguments: Arguments) throws -> PhoneParts {
        let directory = try arguments.required("--directory")
        let session: Session?
        do {
            session = try FileStore(directory: directory).value(.session)
        } catch {
            throw CommandFailure("\(error)", exitCode: ExitCode.files)
        }
        guard let session else { throw CommandFailure("nobody is signed in in \(directory)") }
        return try PhoneParts(directory: directory, installation: session.installationID)
    }

    /// Turns an error of the device into one of the command line.
    static func failure(_ error: DeviceError) -> CommandFailure {
        CommandFailure(
            "\(error)",
            exitCode: error.isRetriable ? ExitCode.unavailable : ExitCode.failure
        )
    }
}
