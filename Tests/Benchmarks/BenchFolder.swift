import FoundationEssentials
import Glibc
import PushBusCrypto

/// Where the servers of the HTTP/2 benchmark find certificate, body and answer; removed at the end.
final class BenchFolder: Sendable {
    static let token = String(repeating: "0f", count: 32)
    let path: String

    init(body: [UInt8] = BenchFolder.body) throws {
        path = try BenchDirectory.make()
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
