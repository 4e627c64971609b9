import FoundationEssentials
import Glibc
import PushBusCrypto
import TLS

/// A value of a type never goes by itself, so its folder needs this.
private func removeSharedCertificates() {
    guard case .success(let made) = TestCertificates.shared else { return }
    try? FileManager.default.removeItem(atPath: made.folder)
}

/// A folder with a self-made CA and server certificates of several kinds, removed at the end.
final class TestCertificates: Sendable {
    let folder: String
    private let authority: CertificateAuthority
    private static let now = Int64(time(nil))

    /// The one that most tests share; its folder goes when the process ends.
    static let shared = Result {
        let made = try TestCertificates()
        atexit(removeSharedCertificates)
        return made
    }

    init() throws {
        var template = Array("/tmp/pushbus-http2-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SetUpError(errno: errno) }
        folder = String(decoding: template.dropLast().map(UInt8.init), as: UTF8.self)
        authority = try CertificateAuthority(name: "Test CA", nowSeconds: Self.now)
        try write(authority.certificatePEM, "ca.pem")
        let other = try CertificateAuthority(name: "Other CA", nowSeconds: Self.now)
        try write(other.certificatePEM, "other-ca.pem")
        try issue("good", hosts: ["localhost", "127.0.0.1"], from: -3_600, until: 86_400)
        try issue("expired", hosts: ["localhost", "127.0.0.1"], from: -86_400, until: -3_600)
        try issue("future", hosts: ["localhost", "127.0.0.1"], from: 3_600, until: 86_400)
        try issue("elsewhere", hosts: ["elsewhere.example"], from: -3_600, until: 86_400)
        try issueSelfSigned()
    }

    /// Nobody vouches for it but itself.
    private func issueSelfSigned() throws {
        let alone = try CertificateAuthority(name: "localhost", nowSeconds: Self.now)
        try write(alone.certificatePEM, "self-signed.pem")
        try alone.privateKeyPEM().withBytes { try write(Array($0), "self-signed.key") }
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    struct SetUpError: Error { var errno: Int32 }

    private func issue(_ name: String, hosts: [String], from: Int64, until: Int64) throws {
        let identity = try authority.issue(
            hosts: hosts,
            notBeforeSeconds: Self.now + from,
            notAfterSeconds: Self.now + until
        )
        try write(identity.certificatePEM, "\(name).pem")
        try identity.privateKeyPEM.withBytes { try write(Array($0), "\(name).key") }
    }

    private func write(_ bytes: [UInt8], _ name: String) throws {
        try Data(bytes).write(to: URL(filePath: "\(folder)/\(name)"))
    }

    func server(
        _ name: String = "good",
        http2: Bool = true,
        maximumVersion: TLSContext.Version = .tls13
    ) throws(TLSError) -> TLSContext {
        try .server(
            certificateChainFile: "\(folder)/\(name).pem",
            privateKeyFile: "\(folder)/\(name).key",
            http2: http2,
            maximumVersion: maximumVersion
        )
    }

    func client(
        trusting name: String = "ca",
        maximumVersion: TLSContext.Version = .tls13
    ) throws(TLSError) -> TLSContext {
        try .client(trust: .file("\(folder)/\(name).pem"), maximumVersion: maximumVersion)
    }
}
