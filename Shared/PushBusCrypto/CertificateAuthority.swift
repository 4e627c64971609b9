import COpenSSL

/// A self-made certificate authority for simulators and tests; nobody else trusts it.
package final class CertificateAuthority: Sendable {
    /// The CA's own certificate in PEM form, to be used as a trust anchor.
    package let certificatePEM: [UInt8]
    private let key: ES256PrivateKey
    private let name: String

    /// Makes a new authority with its own P-256 key, valid for ten years around `nowSeconds`.
    package convenience init(name: String, nowSeconds: Int64) throws(CryptoError) {
        let key = try ES256PrivateKey.generate()
        let certificate = try X509Certificate()
        try certificate.setNames(subject: name, issuer: name)
        try certificate.setValidity(
            from: nowSeconds - 86_400,
            until: nowSeconds + 10 * 365 * 86_400
        )
        try certificate.setPublicKey(key)
        try certificate.add(
            NID_basic_constraints,
            "critical,CA:TRUE,pathlen:0",
            issuer: certificate
        )
        try certificate.add(NID_key_usage, "critical,keyCertSign,cRLSign", issuer: certificate)
        try certificate.add(NID_subject_key_identifier, "hash", issuer: certificate)
        try certificate.sign(with: key)
        self.init(certificatePEM: try certificate.pem(), key: key, name: name)
    }

    /// Opens an authority made earlier, from its certificate and private key in PEM form.
    package convenience init(
        certificatePEM: [UInt8],
        privateKeyPEM: SecretBytes
    ) throws(CryptoError) {
        let certificate = try X509Certificate(pem: certificatePEM)
        let key = try ES256PrivateKey(pem: privateKeyPEM)
        guard certificate.belongs(to: key) else {
            throw CryptoError(.invalidKey, "the CA certificate and the CA key do not match")
        }
        self.init(certificatePEM: certificatePEM, key: key, name: try certificate.commonName())
    }

    private init(certificatePEM: [UInt8], key: ES256PrivateKey, name: String) {
        self.certificatePEM = certificatePEM
        self.key = key
        self.name = name
    }

    /// The CA's private key in PEM form, to keep it for a later start.
    package func privateKeyPEM() throws(CryptoError) -> SecretBytes { try key.pem() }

    /// A server certificate with its key.
    package struct ServerIdentity: Sendable {
        /// The certificate followed by nothing else, PEM.
        package let certificatePEM: [UInt8]
        package let privateKeyPEM: SecretBytes
    }

    /// Issues a server certificate for DNS names and IP addresses.
    ///
    /// Validity is free so that tests can ask for an expired or a not yet valid one.
    package func issue(
        hosts: [String],
        notBeforeSeconds: Int64,
        notAfterSeconds: Int64
    ) throws(CryptoError) -> ServerIdentity {
        guard let first = hosts.first else {
            throw CryptoError(.invalidInput, "a server certificate needs at least one host")
        }
        let alternatives = try hosts.map { (host) throws(CryptoError) in
            try Self.subjectAlternative(host)
        }
        let issuer = try X509Certificate(pem: certificatePEM)
        let serverKey = try ES256PrivateKey.generate()
        let certificate = try X509Certificate()
        try certificate.setNames(subject: first, issuer: name)
        try certificate.setValidity(from: notBeforeSeconds, until: notAfterSeconds)
        try certificate.setPublicKey(serverKey)
        try certificate.add(NID_basic_constraints, "critical,CA:FALSE", issuer: issuer)
        try certificate.add(NID_key_usage, "critical,digitalSignature", issuer: issuer)
        try certificate.add(NID_ext_key_usage, "serverAuth", issuer: issuer)
        try certificate.add(NID_subject_key_identifier, "hash", issuer: issuer)
        try certificate.add(NID_authority_key_identifier, "keyid:always", issuer: issuer)
        try certificate.add(
            NID_subject_alt_name,
            alternatives.joined(separator: ","),
            issuer: issuer
        )
        try certificate.sign(with: key)
        return ServerIdentity(
            certificatePEM: try certificate.pem(),
            privateKeyPEM: try serverKey.pem()
        )
    }

    /// Checked strictly, since the text goes through OpenSSL's configuration syntax.
    private static func subjectAlternative(_ host: String) throws(CryptoError) -> String {
        let characters = host.utf8
        let isAddress =
            characters.contains(UInt8(ascii: ":"))
            || characters.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
        let allowed = characters.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x61...0x7a).contains(byte)
                || (0x41...0x5a).contains(byte) || byte == UInt8(ascii: "-")
                || byte == UInt8(ascii: ".") || (isAddress && byte == UInt8(ascii: ":"))
        }
        guard allowed, (1...64).contains(characters.count) else {
            throw CryptoError(
                .invalidInput,
                "a host is a DNS name or an IP address of 1 to 64 bytes"
            )
        }
        return isAddress ? "IP:\(host)" : "DNS:\(host)"
    }
}
