import TLS

/// Why a connection ended or could not be made.
package enum HTTP2Closure: Error, Sendable, Hashable, CustomStringConvertible {
    /// This side closed it.
    case local
    /// The peer closed it, after a GOAWAY if there was one.
    case peer
    /// The host name could not be resolved; the text is the resolver's.
    case resolution(String)
    /// No address accepted a connection; the text names the last system error.
    case connect(String)
    /// Connecting or the handshake took longer than its deadline.
    case connectTimeout
    /// TLS failed; verification failures carry their code.
    case transport(TLSError)
    /// The peer or this side broke HTTP/2.
    case protocolViolation(String)
    /// The peer did not answer a PING in time.
    case pingTimeout

    package var description: String {
        switch self {
        case .local: "closed by this side"
        case .peer: "closed by the peer"
        case .resolution(let text): "cannot resolve the host: \(text)"
        case .connect(let text): "cannot connect: \(text)"
        case .connectTimeout: "connecting took too long"
        case .transport(let error): error.description
        case .protocolViolation(let text): "http/2 protocol violation: \(text)"
        case .pingTimeout: "the peer does not answer"
        }
    }
}
