import Contracts
import Loop
import PushBusCrypto
import TLS

/// Makes the certificates that the APNs ports may show, good and bad ones, each when it is asked
/// for first.
final class SimulatorCertificates: Sendable {
    private let authority: CertificateAuthority
    private let hosts: [String]
    private let folder: String
    private let nowSeconds: Int64
    private let made = Locked<Set<ServerCertificate>>([])

    /// `folder` gets a certificate and a key file of each kind.
    init(authority: CertificateAuthority, hosts: [String], folder: String, nowSeconds: Int64) {
        self.authority = authority
        self.hosts = hosts
        self.folder = folder
        self.nowSeconds = nowSeconds
    }

    /// What new connections are met with under these settings.
    func context(for settings: SimulatorSettings) throws -> TLSContext {
        let kind = settings.certificate
        let name = kind == .trusted ? "server" : "server-\(kind.rawValue)"
        let certificate = "\(folder)/\(name).pem"
        let key = "\(folder)/\(name).key"
        try made.withLock { made in
            guard !made.contains(kind) else { return }
            let identity = try identity(kind)
            try SimulatorFiles.write(identity.certificate, certificate, mode: 0o644)
            try SimulatorFiles.write(identity.key, key)
            made.insert(kind)
        }
        return try .server(
            certificateChainFile: certificate,
            privateKeyFile: key,
            http2: settings.offersHTTP2,
            minimumVersion: settings.minimumTLS.version,
            maximumVersion: settings.maximumTLS.version
        )
    }

    private func identity(
        _ kind: ServerCertificate
    ) throws -> (certificate: [UInt8], key: SecretBytes) {
        let day: Int64 = 86_400
        var hosts = hosts
        var validity = (from: nowSeconds - day, until: nowSeconds + 397 * day)
        var issuer = authority
        switch kind {
        case .trusted: break
        case .expired: validity = (nowSeconds - 30 * day, nowSeconds - day)
        case .notYetValid: validity = (nowSeconds + day, nowSeconds + 30 * day)
        case .wrongName: hosts = ["wrong-name.invalid"]
        case .unknownAuthority:
            issuer = try CertificateAuthority(name: "Unknown CA", nowSeconds: nowSeconds)
        case .selfSigned:
            let own = try CertificateAuthority(name: "localhost", nowSeconds: nowSeconds)
            return (own.certificatePEM, try own.privateKeyPEM())
        }
        let identity = try issuer.issue(
            hosts: hosts,
            notBeforeSeconds: validity.from,
            notAfterSeconds: validity.until
        )
        return (identity.certificatePEM, identity.privateKeyPEM)
    }
}

extension TLSVersion {
    fileprivate var version: TLSContext.Version {
        switch self {
        case .tls11: .tls11
        case .tls12: .tls12
        case .tls13: .tls13
        }
    }
}
