import Contracts
import FoundationEssentials
import Glibc
import Loop
import ServiceKit
import TestKit
import Topology

/// The real Registration at one address for good, with a proxy in front of it, and commands of the
/// real phone.
struct PhoneWorld: Sendable {
    let world: World
    let proxy: FaultProxy
    private let count = Locked(0)

    /// What a command of the phone said.
    struct Answer: Sendable {
        var code: Int32
        var lines: [JSONValue]
        var text: String

        /// The last line of that event.
        func line(_ event: String) -> JSONValue? {
            lines.last { $0["event"] == .string(event) }
        }
    }

    /// Starts the simulator and Registration and nothing else of PushBus.
    static func run(_ body: @escaping @Sendable (PhoneWorld) async throws -> Void) async throws {
        let port = try freePort()
        try await World.run { topology in
            for service in PushBusService.allCases where service != .registration {
                topology[service].presence = .absent
            }
            topology[.registration].environment["PUSHBUS_REGISTRATION_HTTP"] = "127.0.0.1:\(port)"
        } body: { world in
            let proxy = try FaultProxy(
                listen: .tcp(host: "127.0.0.1", port: 0),
                target: .tcp(host: "127.0.0.1", port: port)
            )
            do {
                try await body(PhoneWorld(world: world, proxy: proxy))
                await proxy.stop()
            } catch {
                await proxy.stop()
                throw error
            }
        }
    }

    /// A port that was free just now; Registration has to come back at the same one.
    private static func freePort() throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 ? getsockname(descriptor, $0, &size) : -1
            }
        }
        guard descriptor >= 0, result == 0 else { throw SystemTestFailure("no free port") }
        return UInt16(bigEndian: address.sin_port)
    }

    /// Where phones reach the server.
    var server: String {
        guard case .tcp(let host, let port) = proxy.address else { return "" }
        return "http://\(host):\(port)"
    }

    private var registration: String { world.running.topology.processName(of: .registration) }

    func stopServer() async { _ = await world.running.supervisor.stop(registration) }

    func startServer() async throws {
        try world.running.supervisor.start(registration)
        guard await world.running.supervisor.waitUntilReady(registration) else {
            throw SystemTestFailure("Registration did not come back")
        }
    }

    /// Writes a file with what is typed into a command.
    func file(_ text: String) throws -> String {
        let number = count.withLock { count in
            count += 1
            return count
        }
        let path = world.directory.file("input-\(number)")
        try Data(text.utf8).write(to: URL(filePath: path))
        return path
    }

    /// An account, and its password as the phone reads it.
    func account(_ name: String, role: Role = .member) async throws -> (
        password: String, file: String
    ) {
        let password = "correct horse of \(name)"
        _ = try await world.ask(
            .registration,
            UserAdd(username: name, password: Password(password), role: role)
        )
        return (password, try file(password + "\n"))
    }

    /// The link in the QR code of `pushbus pair`, in a file.
    func link(for name: String) async throws -> String {
        let pairing = try await world.ask(.registration, PairingCreate(username: name))
        let address = server.replacing(":", with: "%3A").replacing("/", with: "%2F")
        return try file("pushbus://pair?server=\(address)&code=\(pairing.code.text)\n")
    }

    /// The directory of a phone.
    func directory(_ phone: String) -> String { world.directory.file("phone-\(phone)") }

    /// What the phone has stored.
    func state(_ phone: String) throws -> JSONValue {
        let path = "\(directory(phone))/state.json"
        return try JSONDecoder().decode(JSONValue.self, from: Data(contentsOf: URL(filePath: path)))
    }

    /// Starts a command of the phone; the name of its process comes back.
    func start(_ phone: String, _ words: [String]) throws -> String {
        let number = count.withLock { count in
            count += 1
            return count
        }
        let name = "phone-\(phone)-\(number)"
        try world.running.supervisor.add([
            ProcessPlan(
                name: name,
                executable: "\(Executables.folder)/phone",
                arguments: words + ["--directory", directory(phone), "--json"],
                output: .file(world.directory.file("\(name).out"))
            )
        ])
        try world.running.supervisor.start(name)
        return name
    }

    /// Runs a command of the phone to its end.
    func phone(_ phone: String, _ words: String...) async throws -> Answer {
        try await finish(start(phone, words))
    }

    /// Waits for the end of a command.
    func finish(_ name: String) async throws -> Answer {
        let status = await world.running.supervisor.waitForExit(name)
        guard case .exited(let code) = status else {
            throw SystemTestFailure("\(name) ended with \(String(describing: status))")
        }
        let path = world.directory.file("\(name).out")
        let text = String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
        let lines = text.split(separator: "\n").compactMap { line in
            try? JSONDecoder().decode(JSONValue.self, from: Data(line.utf8))
        }
        return Answer(code: code, lines: lines, text: text)
    }
}
