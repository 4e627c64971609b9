/// Certificate chain and private key, both PEM files.
package struct TLSFiles: Sendable {
    package var certificatePath: String
    package var keyPath: String

    package init(certificatePath: String, keyPath: String) {
        self.certificatePath = certificatePath
        self.keyPath = keyPath
    }
}

/// Bounds of one server. Every wait and every buffer has one.
package struct HTTPServerLimits: Sendable {
    /// Open connections; further ones wait in the listen backlog.
    package var connections = 512
    /// Memory of one connection for request line, headers and reply head, in bytes. Larger
    /// heads are answered 431.
    package var headBytes = 16_384
    /// Requests between their first byte and the end of their reply; above it 503.
    package var concurrentRequests = 256
    /// From the opening of a connection to a complete head.
    package var headTimeout = Duration.seconds(10)
    /// How long a connection may stay open without a next request.
    package var idleTimeout = Duration.seconds(60)
    /// From the head to the end of the body; then 408 or a cut.
    package var uploadTimeout = Duration.seconds(5)
    /// From the end of the body to the handler's answer; then 503.
    package var requestTimeout = Duration.seconds(30)
    /// How long the client may take to accept the reply, or one piece of a streamed one.
    package var writeTimeout = Duration.seconds(30)
    /// A body over its limit is read up to this many bytes so that 413 can be answered.
    package var drainBytes = 65_536
    /// How long `stop` waits for requests that are being worked on.
    package var stopGrace = Duration.seconds(5)

    package init() {}

    /// The shortest of the waiting times: no deadline appears closer to now than this.
    var shortest: Duration {
        [headTimeout, idleTimeout, uploadTimeout, requestTimeout, writeTimeout].min()
            ?? .seconds(1)
    }
}

/// Where and how a server listens.
package struct HTTPServerConfiguration: Sendable {
    /// Address to bind, a literal IPv4 or IPv6 address or `localhost`.
    package var host: String
    /// Port to bind; 0 picks a free one.
    package var port: UInt16
    package var tls: TLSFiles?
    /// A proxy in front ends TLS, is the only one that can reach this port, and sets
    /// `sourceHeader`.
    package var trustedProxy: Bool
    /// Header in which the trusted proxy names the client, for example `X-Forwarded-For`, whose
    /// last element counts. Ignored without `trustedProxy`.
    package var sourceHeader: String?
    package var limits: HTTPServerLimits
    /// Where `respond` runs; the cooperative pool when nil. It must outlive the server.
    package var executor: (any TaskExecutor)?

    package init(
        host: String = "127.0.0.1",
        port: UInt16 = 0,
        tls: TLSFiles? = nil,
        trustedProxy: Bool = false,
        sourceHeader: String? = nil,
        limits: HTTPServerLimits = HTTPServerLimits(),
        executor: (any TaskExecutor)? = nil
    ) {
        self.host = host
        self.port = port
        self.tls = tls
        self.trustedProxy = trustedProxy
        self.sourceHeader = sourceHeader
        self.limits = limits
        self.executor = executor
    }
}

/// Why a server cannot start.
package struct HTTPServerError: Error, CustomStringConvertible {
    package enum Code: String, Sendable {
        case invalidAddress
        case exposedWithoutTLS
        case unreadableFile
        case alreadyStarted
        case cannotListen
    }

    package let code: Code
    /// What is wrong and what to do about it; holds no file content.
    package let message: String
    /// `errno` of the failed call, 0 when there is none.
    package let errno: Int32

    init(_ code: Code, _ message: String, errno: Int32 = 0) {
        self.code = code
        self.message = message
        self.errno = errno
    }

    package var description: String { message }
}
