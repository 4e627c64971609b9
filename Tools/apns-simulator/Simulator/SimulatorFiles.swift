import Contracts
import FoundationEssentials
import Glibc
import PushBusCrypto

/// The folder in which the simulator keeps its CA, its certificate and the signing key that it
/// hands to senders, as Apple's developer account would.
///
/// | file | content |
/// |---|---|
/// | `ca.pem` | the certificate that clients have to trust |
/// | `ca.key` | the key of the CA |
/// | `server*.pem`, `server*.key` | its own certificates, made anew at each start |
/// | `apns-key.p8` | the signing key for provider tokens, PKCS#8 |
/// | `credentials.json` | key id, team id, bundle id and the paths a sender needs |
struct SimulatorFiles: Sendable {
    let directory: String
    let keyID: String
    let teamID: String
    let publicKey: ES256PublicKey
    let authority: CertificateAuthority

    var authorityPath: String { path("ca.pem") }
    var signingKeyPath: String { path("apns-key.p8") }

    private struct Identity: Codable {
        var key_id: String
        var team_id: String
    }

    /// Opens the folder, making what is missing. Existing keys are kept.
    init(
        directory: String,
        bundleIDs: [String],
        nowSeconds: Int64
    ) throws {
        self.directory = directory
        try FileManager.default.createDirectory(
            atPath: directory,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        authority = try Self.authority(directory, nowSeconds: nowSeconds)

        let keyPath = "\(directory)/apns-key.p8"
        let key: ES256PrivateKey
        if FileManager.default.fileExists(atPath: keyPath) {
            key = try ES256PrivateKey(pem: SecretBytes(try Self.read(keyPath)))
        } else {
            key = try ES256PrivateKey.generate()
            try Self.write(try key.pem(), keyPath)
        }
        publicKey = key.publicKey

        let credentials = "\(directory)/credentials.json"
        if let bytes = try? Self.read(credentials),
            let known = try? JSONDecoder().decode(Identity.self, from: Data(bytes))
        {
            keyID = known.key_id
            teamID = known.team_id
        } else {
            keyID = Self.identifier()
            teamID = Self.identifier()
        }
        var json = CompactJSON()
        json.object {
            $0.field("key_id", keyID)
            $0.field("team_id", teamID)
            $0.field("key_file", keyPath)
            $0.field("ca_file", "\(directory)/ca.pem")
            $0.key("bundle_ids")
            $0.array { for id in bundleIDs { $0.value(id) } }
        }
        try Self.write(json.bytes + [UInt8(ascii: "\n")], credentials, mode: 0o644)
    }

    private func path(_ name: String) -> String { "\(directory)/\(name)" }

    private static func authority(
        _ directory: String,
        nowSeconds: Int64
    ) throws -> CertificateAuthority {
        let certificate = "\(directory)/ca.pem"
        let key = "\(directory)/ca.key"
        if FileManager.default.fileExists(atPath: certificate) {
            return try CertificateAuthority(
                certificatePEM: try read(certificate),
                privateKeyPEM: SecretBytes(try read(key))
            )
        }
        let authority = try CertificateAuthority(
            name: "APNs simulator CA",
            nowSeconds: nowSeconds
        )
        try write(try authority.privateKeyPEM(), key)
        try write(authority.certificatePEM, certificate, mode: 0o644)
        return authority
    }

    /// Ten capital letters and digits, as Apple's key and team ids.
    static func identifier() -> String {
        let alphabet = Array("ABCDEFGHJKLMNPQRSTUVWXYZ23456789".utf8)
        return String(
            decoding: SecureRandom.bytes(10).map { alphabet[Int($0) % alphabet.count] },
            as: UTF8.self
        )
    }

    private static func read(_ path: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(filePath: path)))
    }

    static func write(_ secret: SecretBytes, _ path: String) throws {
        try secret.withBytes { (bytes: UnsafeRawBufferPointer) throws in
            try write(bytes, path, mode: 0o600)
        }
    }

    static func write(_ bytes: [UInt8], _ path: String, mode: mode_t) throws {
        try bytes.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) throws in
            try write(bytes, path, mode: mode)
        }
    }

    /// Appears in one step, with its mode from the start.
    private static func write(
        _ bytes: UnsafeRawBufferPointer,
        _ path: String,
        mode: mode_t
    ) throws {
        let temporary = path + ".new"
        let file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        guard file >= 0 else { throw FileFailure(path: path, code: errno) }
        let count = Glibc.write(file, bytes.baseAddress, bytes.count)
        let code = errno
        close(file)
        guard count == bytes.count else { throw FileFailure(path: path, code: code) }
        guard rename(temporary, path) == 0 else { throw FileFailure(path: path, code: errno) }
    }
}

/// A file of the simulator's folder could not be written.
struct FileFailure: Error, CustomStringConvertible {
    var path: String
    var code: Int32

    var description: String {
        "cannot write \(path): \(String(cString: strerror(code))) (errno \(code))"
    }
}
