import COpenSSL
import Glibc

/// What one step on a non-blocking TLS connection brought.
package enum TLSResult: Sendable, Equatable {
    /// This many bytes were moved; a finished handshake answers `.ok(0)`.
    case ok(Int)
    /// Nothing more until the socket is readable.
    case wantRead
    /// Nothing more until the socket is writable.
    case wantWrite
    /// The peer ended the connection.
    case closed
    case failed(TLSError)
}

/// TLS over one non-blocking socket, which the caller owns and closes after this object is gone.
///
/// Not Sendable: it belongs to the thread that drives the socket. No call blocks.
package final class TLSConnection {
    private let ssl: OpaquePointer
    private let requiresHTTP2: Bool
    private let isServer: Bool
    // Keeps the settings alive as long as the connection.
    private let context: TLSContext
    private var isBroken = false

    /// A client connection that accepts only a certificate for `serverName` (a DNS name or an
    /// address literal) and sends SNI for names.
    package static func client(
        _ context: TLSContext,
        socket: Int32,
        serverName: String
    ) throws(TLSError) -> TLSConnection {
        let connection = try TLSConnection(context, socket: socket)
        guard let parameters = SSL_get0_param(connection.ssl) else {
            throw .configuration("OpenSSL has no verification parameters")
        }
        X509_VERIFY_PARAM_set_hostflags(
            parameters,
            UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS)
        )
        if X509_VERIFY_PARAM_set1_ip_asc(parameters, serverName) != 1 {
            ERR_clear_error()
            guard
                SSL_set1_host(connection.ssl, serverName) == 1,
                tls_shim_server_name(connection.ssl, serverName) == 1
            else { throw .configuration("\(serverName) is not usable as a server name") }
        }
        SSL_set_connect_state(connection.ssl)
        return connection
    }

    /// The server's end of an accepted socket.
    package static func server(
        _ context: TLSContext,
        socket: Int32
    ) throws(TLSError) -> TLSConnection {
        let connection = try TLSConnection(context, socket: socket)
        SSL_set_accept_state(connection.ssl)
        return connection
    }

    private init(_ context: TLSContext, socket: Int32) throws(TLSError) {
        guard let ssl = SSL_new(context.pointer) else {
            throw .configuration("OpenSSL cannot make a connection")
        }
        self.ssl = ssl
        self.context = context
        requiresHTTP2 = context.requiresHTTP2
        isServer = context.isServer
        guard SSL_set_fd(ssl, socket) == 1 else {
            throw .configuration("OpenSSL does not take the socket")
        }
    }

    deinit { SSL_free(ssl) }

    /// Goes on with the handshake; `.ok(0)` once the peer is verified and `h2` is agreed.
    package func handshake() -> TLSResult {
        ERR_clear_error()
        errno = 0
        let code = SSL_do_handshake(ssl)
        if code == 1 {
            if requiresHTTP2, !isServer, applicationProtocol != "h2" {
                isBroken = true
                return .failed(
                    .library(
                        .applicationProtocol,
                        "the peer did not choose h2: it is no HTTP/2 server"
                    )
                )
            }
            return .ok(0)
        }
        return result(of: code, during: .handshake)
    }

    /// Reads decrypted bytes; go on until `.wantRead`, since bytes that OpenSSL holds back are not
    /// reported by epoll.
    package func read(into buffer: UnsafeMutableRawBufferPointer) -> TLSResult {
        ERR_clear_error()
        errno = 0
        let count = SSL_read(ssl, buffer.baseAddress, Int32(min(buffer.count, Int(Int32.max))))
        if count > 0 { return .ok(Int(count)) }
        return result(of: count, during: .protocolViolation)
    }

    /// Writes at most one TLS record (16 KiB); a retry may use another buffer with the same bytes.
    package func write(_ bytes: UnsafeRawBufferPointer) -> TLSResult {
        if bytes.isEmpty { return .ok(0) }
        ERR_clear_error()
        errno = 0
        let count = SSL_write(ssl, bytes.baseAddress, Int32(min(bytes.count, Int(Int32.max))))
        if count > 0 { return .ok(Int(count)) }
        return result(of: count, during: .protocolViolation)
    }

    /// Tells the peer that nothing more comes; best effort, never waits.
    package func sayGoodbye() {
        guard !isBroken, SSL_is_init_finished(ssl) == 1 else { return }
        ERR_clear_error()
        _ = SSL_shutdown(ssl)
        ERR_clear_error()
    }

    /// The protocol agreed by ALPN, nil before the handshake or when there is none.
    package var applicationProtocol: String? {
        var bytes: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        SSL_get0_alpn_selected(ssl, &bytes, &length)
        guard let bytes, length > 0 else { return nil }
        return String(
            decoding: UnsafeBufferPointer(start: bytes, count: Int(length)),
            as: UTF8.self
        )
    }

    /// The agreed TLS version, for example `TLSv1.3`.
    package var version: String { String(cString: SSL_get_version(ssl)) }

    private func result(of code: Int32, during phase: TLSError.Code) -> TLSResult {
        let systemError = errno
        switch SSL_get_error(ssl, code) {
        case SSL_ERROR_WANT_READ: return .wantRead
        case SSL_ERROR_WANT_WRITE: return .wantWrite
        case SSL_ERROR_ZERO_RETURN:
            isBroken = true
            return .closed
        case SSL_ERROR_SYSCALL:
            isBroken = true
            return .failed(.system(.connection, errno: systemError))
        default:
            isBroken = true
            let verify = SSL_get_verify_result(ssl)
            if phase == .handshake, !isServer, verify != Int(X509_V_OK) {
                return .failed(.verification(verify))
            }
            if phase == .handshake, isNoApplicationProtocol(ERR_peek_error()) {
                return .failed(
                    .library(.applicationProtocol, "the peer offers no HTTP/2 (ALPN h2 refused)")
                )
            }
            let message = phase == .handshake ? "the handshake failed" : "the connection failed"
            return .failed(.library(phase, message))
        }
    }

    /// Alert 120 (RFC 7301 section 3.2) from the peer, or our own refusal of its list.
    private func isNoApplicationProtocol(_ entry: UInt) -> Bool {
        let reason = ERR_GET_REASON(entry)
        return reason == SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL
            || reason == SSL_R_NO_APPLICATION_PROTOCOL
    }
}
