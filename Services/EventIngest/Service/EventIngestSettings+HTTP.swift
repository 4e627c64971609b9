import HTTPServer
import ServiceKit

extension EventIngestSettings {
    /// Reads where integrators publish over HTTP; nil when they do not.
    static func http(_ reader: inout EnvironmentReader) -> HTTPServerConfiguration? {
        let address = reader.optionalValue(
            "HTTP",
            help: "address and port for integrators (POST /v1/events), port 0 for any"
        ) { try HostAndPort(parsing: $0) }
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
