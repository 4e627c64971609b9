import Contracts
import FoundationEssentials
import PushBusCrypto
import RelayService
import ServiceKit
import TLS
import TestKit

/// Certificates and a signing key in a temporary directory.
final class RelayFiles: Sendable {
    let directory: TemporaryDirectory
    let key: ES256PrivateKey

    var authority: String { directory.file("ca.pem") }
    var signingKey: String { directory.file("key.p8") }

    init() throws {
        directory = try TemporaryDirectory()
        key = try ES256PrivateKey.generate()
        // The wall clock of the test is not the one that TLS looks at.
        let now = SystemTime().wall.second.seconds
        let authority = try CertificateAuthority(name: "Test CA", nowSeconds: now)
        let stranger = try CertificateAuthority(name: "Stranger", nowSeconds: now)
        let server = try authority.issue(
            hosts: ["localhost", "127.0.0.1"],
            notBeforeSeconds: now - 3600,
            notAfterSeconds: now + 3600
        )
        try write(authority.certificatePEM, "ca.pem")
        try write(server.certificatePEM, "server.pem")
        try write(server.privateKeyPEM.withBytes { Array($0) }, "server.key")
        try write(key.pem().withBytes { Array($0) }, "key.p8")
        try writeBadCertificates(authority, stranger, now)
    }

    private func write(_ bytes: [UInt8], _ name: String) throws {
        try Data(bytes).write(to: URL(filePath: directory.file(name)))
    }

    func serverContext(
        _ name: String = "server",
        maximumVersion: TLSContext.Version = .tls13
    ) throws -> TLSContext {
        try TLSContext.server(
            certificateChainFile: directory.file("\(name).pem"),
            privateKeyFile: directory.file("\(name).key"),
            maximumVersion: maximumVersion
        )
    }

    /// Certificates of servers that must not be believed.
    static let badCertificates = ["unknown", "self-signed", "expired", "future", "elsewhere"]

    private func writeBadCertificates(
        _ authority: CertificateAuthority,
        _ stranger: CertificateAuthority,
        _ now: Int64
    ) throws {
        let here = ["localhost", "127.0.0.1"]
        let rows = [
            ("unknown", stranger, here, -3_600, 3_600),
            ("expired", authority, here, -7_200, -3_600),
            ("future", authority, here, 3_600, 7_200),
            ("elsewhere", authority, ["elsewhere.example"], -3_600, 3_600),
        ]
        for (name, issuer, hosts, from, until) in rows {
            let identity = try issuer.issue(
                hosts: hosts,
                notBeforeSeconds: now + Int64(from),
                notAfterSeconds: now + Int64(until)
            )
            try write(identity.certificatePEM, "\(name).pem")
            try write(identity.privateKeyPEM.withBytes { Array($0) }, "\(name).key")
        }
        let alone = try CertificateAuthority(name: "localhost", nowSeconds: now)
        try write(alone.certificatePEM, "self-signed.pem")
        try write(alone.privateKeyPEM().withBytes { Array($0) }, "self-signed.key")
    }

    func credentials() throws -> APNsCredentials {
        try APNsCredentials(
            teamID: "TEAM123456",
            keyID: "KEY1234567",
            keyPEM: key.pem(),
            topic: "app.example"
        )
    }
}
