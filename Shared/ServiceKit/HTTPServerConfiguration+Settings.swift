import HTTPServer

extension HTTPServerConfiguration {
    /// Reads where a process listens for HTTP and how TLS ends; nil when it does not listen.
    ///
    /// `HTTP` is the address, `HTTP_CERTIFICATE_FILE` and `HTTP_KEY_FILE` belong together, and an
    /// address that is not loopback needs both, or `HTTP_TRUSTED_PROXY`.
    package static func read(
        _ reader: inout EnvironmentReader,
        help: String
    ) -> HTTPServerConfiguration? {
        let address = reader.optionalValue("HTTP", help: help) { try HostAndPort(parsing: $0) }
        let certificate = reader.optionalPath(
            "HTTP_CERTIFICATE_FILE",
            help: "certificate chain (PEM); needed with a key for any address but loopback"
        )
        let key = reader.optionalPath("HTTP_KEY_FILE", help: "private key (PEM)")
        let isProxied = reader.bool(
            "HTTP_TRUSTED_PROXY",
            default: false,
            help: "a proxy in front ends TLS and is the only one that reaches this port"
        )
        if (certificate == nil) != (key == nil) {
            reader.reject("HTTP_KEY_FILE", "needs HTTP_CERTIFICATE_FILE beside it, and the reverse")
        }
        guard let address else { return nil }
        var configuration = HTTPServerConfiguration(
            host: address.host,
            port: address.port,
            trustedProxy: isProxied
        )
        if let certificate, let key {
            configuration.tls = TLSFiles(certificatePath: certificate, keyPath: key)
        }
        if !address.isLoopback, configuration.tls == nil, !isProxied {
            reader.reject(
                "HTTP",
                "is reachable from outside: needs HTTP_CERTIFICATE_FILE and "
                    + "HTTP_KEY_FILE, or an HTTP_TRUSTED_PROXY in front"
            )
        }
        return configuration
    }
}
