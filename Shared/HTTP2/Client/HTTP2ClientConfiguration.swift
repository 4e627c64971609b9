import TLS

/// Where a client connection goes and what it may do.
package struct HTTP2ClientConfiguration: Sendable {
    /// Host to connect to: a DNS name or an address literal.
    package var host: String
    package var port: UInt16
    /// Name that the certificate must bear; the host unless set otherwise.
    package var serverName: String
    /// Value of `:authority`.
    package var authority: String
    package var tls: TLSContext
    /// Fields that every request carries, for example `authorization`; encoded once.
    package var commonHeaders: [HTTP2Field] = []
    /// This side's own cap on concurrent streams, 1 to 10 000.
    package var maximumStreams = 1_000
    /// One stream until the first 2xx answer, as APNs demands of token authentication.
    package var singleStreamUntilFirstSuccess = false
    /// Bytes of the peer's connection window below which a connection that works on requests takes
    /// no further one; 0 lets bodies wait for the window inside the connection.
    package var windowReserve = 0
    /// Names (lowercase) of the answer's fields to keep.
    package var keptHeaders: [String] = ["content-type", "retry-after"]
    /// Most bytes of an answer's body to keep.
    package var keptBodyBytes = 4_096
    /// Bytes to read before other work of the loop gets its turn.
    package var readBudget = 262_144

    package init(host: String, port: UInt16, tls: TLSContext) {
        self.host = host
        self.port = port
        self.tls = tls
        serverName = host
        authority = port == 443 ? host : "\(host):\(port)"
    }
}
