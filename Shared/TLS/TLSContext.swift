import COpenSSL
import Glibc

/// Which certificate authorities a client trusts.
package enum TLSTrust: Sendable, Hashable {
    /// The bundle of the system (`/etc/ssl/certs` on Debian).
    case system
    /// A PEM file of one or more authorities, used instead of the system's bundle.
    case file(String)
}

/// Settings from which many TLS connections are made.
///
/// Immutable once made. `SSL_CTX` counts its references atomically and is only read by `SSL_new`
/// (OpenSSL 3.0 manual, `openssl-threads(7)`).
package final class TLSContext: Sendable {
    /// A protocol version bound; 1.2 is the lowest that the project speaks by itself.
    package enum Version: Sendable {
        case tls11, tls12, tls13

        var raw: Int32 {
            switch self {
            case .tls11: TLS1_1_VERSION
            case .tls12: TLS1_2_VERSION
            case .tls13: TLS1_3_VERSION
            }
        }
    }

    // Never changed after init, and SSL_CTX is safe to share between threads for SSL_new.
    nonisolated(unsafe) let pointer: OpaquePointer
    let isServer: Bool
    let requiresHTTP2: Bool

    private init(pointer: OpaquePointer, isServer: Bool, requiresHTTP2: Bool) {
        self.pointer = pointer
        self.isServer = isServer
        self.requiresHTTP2 = requiresHTTP2
    }

    deinit { SSL_CTX_free(pointer) }

    /// A client context: verification and host name check on, TLS 1.2 or newer, ALPN `h2` required.
    ///
    /// Throws a configuration error when the bundle cannot be read.
    package static func client(
        trust: TLSTrust,
        maximumVersion: Version = .tls13
    ) throws(TLSError) -> TLSContext {
        let pointer = try make(TLS_client_method())
        let context = TLSContext(pointer: pointer, isServer: false, requiresHTTP2: true)
        SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
        switch trust {
        case .system:
            guard SSL_CTX_set_default_verify_paths(pointer) == 1 else {
                throw .configuration("cannot load the system's CA bundle: install ca-certificates")
            }
        case .file(let path):
            guard SSL_CTX_load_verify_file(pointer, path) == 1 else {
                throw .configuration("cannot load the CA bundle \(path): it must be a PEM file")
            }
        }
        // Length-prefixed protocol list (RFC 7301): "h2". This call answers 0 for success.
        guard SSL_CTX_set_alpn_protos(pointer, [2, 0x68, 0x32], 3) == 0 else {
            throw .configuration("cannot set the application protocol")
        }
        if maximumVersion == .tls11 {
            // For tests of servers that must refuse it; the security level blocks it otherwise.
            _ = tls_shim_ctx_min_version(pointer, TLS1_1_VERSION)
            SSL_CTX_set_security_level(pointer, 0)
        }
        _ = tls_shim_ctx_max_version(pointer, maximumVersion.raw)
        return context
    }

    /// A server context from PEM files; the first certificate of the chain file is the server's own.
    ///
    /// Throws a configuration error that names the file when one is missing, not PEM, encrypted, or
    /// when key and certificate do not belong together. `http2: false` leaves ALPN out, for tests.
    package static func server(
        certificateChainFile: String,
        privateKeyFile: String,
        http2: Bool = true,
        minimumVersion: Version = .tls12,
        maximumVersion: Version = .tls13
    ) throws(TLSError) -> TLSContext {
        let pointer = try make(TLS_server_method())
        let context = TLSContext(pointer: pointer, isServer: true, requiresHTTP2: http2)
        // Without a callback OpenSSL would ask for a password on the terminal.
        SSL_CTX_set_default_passwd_cb(pointer, refusePassword)
        guard SSL_CTX_use_certificate_chain_file(pointer, certificateChainFile) == 1 else {
            throw .configuration(
                "cannot load the certificate chain \(certificateChainFile): it must be a PEM file"
            )
        }
        guard SSL_CTX_use_PrivateKey_file(pointer, privateKeyFile, SSL_FILETYPE_PEM) == 1 else {
            throw .configuration(
                "cannot load the private key \(privateKeyFile): it must be an unencrypted PEM file"
                    + " that belongs to the certificate"
            )
        }
        guard SSL_CTX_check_private_key(pointer) == 1 else {
            throw .configuration("\(privateKeyFile) does not belong to \(certificateChainFile)")
        }
        if http2 { SSL_CTX_set_alpn_select_cb(pointer, selectHTTP2, nil) }
        let lowest = maximumVersion == .tls11 ? .tls11 : minimumVersion
        _ = tls_shim_ctx_min_version(pointer, lowest.raw)
        // The security level blocks it otherwise.
        if lowest == .tls11 { SSL_CTX_set_security_level(pointer, 0) }
        _ = tls_shim_ctx_max_version(pointer, maximumVersion.raw)
        return context
    }

    private static func make(_ method: OpaquePointer?) throws(TLSError) -> OpaquePointer {
        ignoreBrokenPipe
        guard let pointer = SSL_CTX_new(method) else {
            throw .configuration("OpenSSL cannot make a context")
        }
        tls_shim_ctx_defaults(pointer)
        SSL_CTX_set_default_read_buffer_len(pointer, 65_536)
        return pointer
    }
}

/// OpenSSL writes with `write(2)`: a peer that left would end the process by SIGPIPE.
private let ignoreBrokenPipe: Void = {
    _ = signal(SIGPIPE, SIG_IGN)
}()

private func refusePassword(
    _: UnsafeMutablePointer<CChar>?,
    _: Int32,
    _: Int32,
    _: UnsafeMutableRawPointer?
) -> Int32 { 0 }

/// ALPN on the server: picks `h2` from the client's list, or ends the handshake with an alert.
private func selectHTTP2(
    _: OpaquePointer?,
    _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    _ chosenLength: UnsafeMutablePointer<UInt8>?,
    _ offered: UnsafePointer<UInt8>?,
    _ offeredLength: UInt32,
    _: UnsafeMutableRawPointer?
) -> Int32 {
    guard let chosen, let chosenLength, let offered else { return SSL_TLSEXT_ERR_ALERT_FATAL }
    var index = 0
    let end = Int(offeredLength)
    while index < end {
        let length = Int(offered[index])
        guard index + length < end else { break }
        if length == 2, offered[index + 1] == 0x68, offered[index + 2] == 0x32 {
            chosen.pointee = offered + index + 1
            chosenLength.pointee = 2
            return SSL_TLSEXT_ERR_OK
        }
        index += length + 1
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL
}
