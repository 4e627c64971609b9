import Contracts
import FoundationEssentials
import Glibc
import PushBusCrypto

/// Where the servers of the HTTP/2 benchmark find certificate, body and answer; removed at the end.
final class BenchFolder: Sendable {
    static let token = String(repeating: "0f", count: 32)
    let path: String

    init(body: [UInt8] = BenchFolder.body) throws {
        var template = Array("/tmp/pushbus-bench-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw BenchFailure("cannot make a folder in /tmp") }
        path = String(decoding: template.dropLast().map(UInt8.init), as: UTF8.self)
        let now = Int64(time(nil))
        let authority = try CertificateAuthority(name: "Bench CA", nowSeconds: now)
        let server = try authority.issue(
            hosts: ["localhost", "127.0.0.1"],
            notBeforeSeconds: now - 3_600,
            notAfterSeconds: now + 86_400
        )
        try write(authority.certificatePEM, "ca.pem")
        try write(server.certificatePEM, "server.pem")
        try server.privateKeyPEM.withBytes { try write(Array($0), "server.key") }
        try write(body, "body.json")
        // nghttpd answers 200 only where there is a file.
        try FileManager.default.createDirectory(
            atPath: file("www/3/device"),
            withIntermediateDirectories: true
        )
        try write([], "www/3/device/\(Self.token)")
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { "\(path)/\(name)" }

    /// A payload as the Relay sends it, 1400 bytes.
    static let body: [UInt8] = {
        let start = #"{"aps":{"alert":{"title":"a","body":"b"},"mutable-content":1},"e":""#
        let end = #""}"#
        let filler = String(repeating: "x", count: 1_400 - start.utf8.count - end.utf8.count)
        return Array((start + filler + end).utf8)
    }()

    private func write(_ bytes: [UInt8], _ name: String) throws {
        try Data(bytes).write(to: URL(filePath: file(name)))
    }
}

/// nghttpd of the nghttp2 project, as a server for both clients.
final class NGHTTPD {
    /// 64 KiB windows, as APNs was seen to have.
    static let narrow: [String] = []
    /// 1 MiB a stream, 16 MiB a connection.
    static let wide = ["-w", "20", "-W", "24"]

    let port: UInt16
    private let program: ExternalProgram

    init(_ folder: BenchFolder, _ windows: [String]) throws {
        port = try LoopbackPort.free()
        program = try ExternalProgram(
            try ExternalProgram.find("nghttpd", package: "nghttp2-server"),
            ["-m", "1000"] + windows + [
                "-d", folder.file("www"), "\(port)", folder.file("server.key"),
                folder.file("server.pem"),
            ],
            output: folder.file("nghttpd.log"),
            limitSeconds: 600
        )
        try LoopbackPort.waitUntilOpen(port)
    }

    func stop() { program.stop() }
}

/// The APNs simulator of this package, without its first-stream ramp.
final class SimulatorProcess {
    let port: UInt16
    let providerToken: String
    private let program: ExternalProgram

    init(_ folder: BenchFolder, _ variables: [String: String]) throws {
        port = try LoopbackPort.free()
        let directory = folder.file("apns")
        program = try ExternalProgram(
            try ExternalProgram.sibling("apns-simulator"),
            [],
            environment: [
                "PUSHBUS_SIMULATOR_DIRECTORY": directory,
                "PUSHBUS_SIMULATOR_SANDBOX_PORT": "\(port)",
                "PUSHBUS_SIMULATOR_FIRST_STREAMS": "0",
            ].merging(variables) { $1 },
            output: folder.file("simulator.log"),
            limitSeconds: 600
        )
        try LoopbackPort.waitUntilOpen(port)
        providerToken = try SimulatorCredentials(folder: directory).providerToken()
    }

    func stop() { program.stop() }
}

/// h2load of the nghttp2 project, the reference client.
struct H2Load {
    private let program: String
    private let options: BenchOptions
    private let folder: BenchFolder

    init(_ options: BenchOptions, _ folder: BenchFolder) throws {
        program = try ExternalProgram.find("h2load", package: "nghttp2-client")
        self.options = options
        self.folder = folder
    }

    func run(port: UInt16, token: String? = nil) throws -> H2Figure {
        var arguments = [
            "-n", "\(options.requests)", "-c", "1", "-t", "1", "-m", "\(options.streams)",
            "-d", folder.file("body.json"),
        ]
        for (name, value) in RequestFields.all(token) { arguments += ["-H", "\(name): \(value)"] }
        arguments.append("https://127.0.0.1:\(port)/3/device/\(BenchFolder.token)")
        let result = try ExternalProgram(
            program,
            arguments,
            output: folder.file("h2load.log")
        ).wait()
        guard
            result.code == 0,
            result.output.contains("\(options.requests) succeeded"),
            let line = result.output.split(separator: "\n").first(where: {
                $0.hasPrefix("finished in")
            }),
            let text = line.split(separator: " ").first(where: { Double($0) != nil }),
            let rate = Double(text)
        else { throw BenchFailure("h2load failed (code \(result.code)):\n\(result.output)") }
        return H2Figure(
            requestsPerSecond: rate,
            cpuMicroseconds: result.cpuSeconds / Double(options.requests) * 1_000_000
        )
    }
}

/// The header fields of a push, the same for every client.
enum RequestFields {
    static func all(_ token: String?) -> [(name: String, value: String)] {
        // As long as a real provider token.
        let token = token ?? String(repeating: "t", count: 205)
        return [
            ("authorization", "bearer \(token)"), ("apns-topic", "app.example"),
            ("apns-push-type", "alert"), ("apns-priority", "10"),
            ("apns-expiration", "1999999999"),
            ("apns-id", "0f8fad5b-d9cb-469f-a165-70867728950e"),
        ]
    }
}

/// Ports on 127.0.0.1.
enum LoopbackPort {
    /// A port that nobody listened at a moment ago.
    static func free() throws -> UInt16 {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = self.address(0)
        let code = withSocketAddress(&address) { bind(socket, $0, $1) }
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let found = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getsockname(socket, $0, &length)
            }
        }
        guard code == 0, found == 0 else { throw BenchFailure("no free port on 127.0.0.1") }
        return UInt16(bigEndian: address.sin_port)
    }

    /// Tries to connect until somebody listens, at most ten seconds.
    static func waitUntilOpen(_ port: UInt16) throws {
        for _ in 0..<500 {
            let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(socket) }
            var address = address(port)
            if withSocketAddress(&address, { connect(socket, $0, $1) }) == 0 { return }
            poll(nil, 0, 20)
        }
        throw BenchFailure("nobody listens at port \(port)")
    }

    private static func address(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        return address
    }

    private static func withSocketAddress(
        _ address: inout sockaddr_in,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
