import COpenSSL

/// Owns one X.509 certificate while it is being made or looked at.
final class X509Certificate {
    private let pointer: OpaquePointer

    /// An empty version 3 certificate with a random serial number.
    init() throws(CryptoError) {
        pointer = try check(X509_new(), "certificate")
        try check(X509_set_version(pointer, 2), "certificate version")
        var serial = SecureRandom.bytes(16)
        // Positive and of full length, as RFC 5280 section 4.1.2.2 wants it.
        serial[0] = serial[0] & 0x7f | 0x40
        let number = try check(BN_bin2bn(serial, Int32(serial.count), nil), "serial number")
        defer { BN_free(number) }
        _ = try check(
            BN_to_ASN1_INTEGER(number, X509_get_serialNumber(pointer)),
            "serial number"
        )
    }

    init(pem: [UInt8]) throws(CryptoError) {
        let bio = try MemoryBIO.holding(pem)
        guard let pointer = PEM_read_bio_X509(bio.pointer, nil, nil, nil) else {
            ERR_clear_error()
            throw CryptoError(.invalidInput, "no certificate in PEM form found")
        }
        self.pointer = pointer
    }

    deinit { X509_free(pointer) }

    func setNames(subject: String, issuer: String) throws(CryptoError) {
        try setCommonName(subject, in: X509_get_subject_name(pointer))
        try setCommonName(issuer, in: X509_get_issuer_name(pointer))
    }

    func commonName() throws(CryptoError) -> String {
        let name = try check(X509_get_subject_name(pointer), "certificate name")
        let index = X509_NAME_get_index_by_NID(name, NID_commonName, -1)
        let entry = try check(X509_NAME_get_entry(name, index), "certificate name")
        let data = try check(X509_NAME_ENTRY_get_data(entry), "certificate name")
        let bytes = UnsafeBufferPointer(
            start: ASN1_STRING_get0_data(data),
            count: Int(ASN1_STRING_length(data))
        )
        return String(decoding: bytes, as: UTF8.self)
    }

    func setValidity(from start: Int64, until end: Int64) throws(CryptoError) {
        _ = try check(ASN1_TIME_set(X509_getm_notBefore(pointer), Int(start)), "validity")
        _ = try check(ASN1_TIME_set(X509_getm_notAfter(pointer), Int(end)), "validity")
    }

    func setPublicKey(_ key: ES256PrivateKey) throws(CryptoError) {
        try key.key.withPointer { (key) throws(CryptoError) in
            try check(X509_set_pubkey(pointer, key), "certificate key")
        }
    }

    func belongs(to key: ES256PrivateKey) -> Bool {
        defer { ERR_clear_error() }
        return key.key.withPointer { X509_check_private_key(pointer, $0) == 1 }
    }

    /// Adds an extension in OpenSSL's text form; `issuer` is what `keyid` refers to.
    func add(_ identifier: Int32, _ value: String, issuer: X509Certificate) throws(CryptoError) {
        var context = X509V3_CTX()
        X509V3_set_ctx(&context, issuer.pointer, pointer, nil, nil, 0)
        let part = try check(
            X509V3_EXT_conf_nid(nil, &context, identifier, value),
            "certificate extension"
        )
        defer { X509_EXTENSION_free(part) }
        try check(X509_add_ext(pointer, part, -1), "certificate extension")
    }

    func sign(with key: ES256PrivateKey) throws(CryptoError) {
        let length = key.key.withPointer { X509_sign(pointer, $0, EVP_sha256()) }
        guard length > 0 else { throw libraryFailure("signing the certificate") }
    }

    func pem() throws(CryptoError) -> [UInt8] {
        let bio = try MemoryBIO()
        try check(PEM_write_bio_X509(bio.pointer, pointer), "writing the certificate")
        return bio.contents()
    }

    private func setCommonName(_ text: String, in name: OpaquePointer?) throws(CryptoError) {
        let bytes = Array(text.utf8)
        try check(
            X509_NAME_add_entry_by_NID(
                name,
                NID_commonName,
                MBSTRING_UTF8,
                bytes,
                Int32(bytes.count),
                -1,
                0
            ),
            "certificate name"
        )
    }
}
