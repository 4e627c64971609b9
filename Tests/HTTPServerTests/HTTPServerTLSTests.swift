import Glibc
import HTTPClient
import HTTPServer
import Loop
import TestKit
import Testing

@Suite(.timeLimit(.minutes(2)))
struct HTTPServerTLSTests {
    @Test func servesAndVerifiesOverTLS() async throws {
        let directory = try TemporaryDirectory()
        let files = try TestCertificate.write(to: directory)
        try await withServer(tls: files) { _, port, _ in
            let trusting = try HTTPClient(
                configuration: HTTPClientConfiguration(caFile: files.certificatePath)
            )
            for _ in 0..<3 {
                let reply = try await trusting.send(
                    HTTPClientRequest(
                        method: "POST",
                        url: "https://127.0.0.1:\(port)/echo",
                        body: Array("sealed".utf8)
                    )
                )
                #expect(reply.body == Array("sealed".utf8))
            }
            trusting.stop()

            let strict = try HTTPClient()
            let error = await #expect(throws: HTTPClientError.self) {
                try await strict.send(HTTPClientRequest(url: "https://127.0.0.1:\(port)/echo"))
            }
            #expect(error?.code == .tlsFailed)
            strict.stop()
        }
    }

    @Test func refusesAKeyThatDoesNotFit() async throws {
        let directory = try TemporaryDirectory()
        let files = try TestCertificate.write(to: directory)
        let broken = HTTPServer(
            configuration: HTTPServerConfiguration(
                host: "0.0.0.0",
                tls: TLSFiles(
                    certificatePath: files.certificatePath,
                    keyPath: files.certificatePath
                )
            ),
            handler: ScriptedHandler()
        )
        let error = #expect(throws: HTTPServerError.self) { try broken.start() }
        #expect(error?.message.contains("MII") == false)
        let missing = HTTPServer(
            configuration: HTTPServerConfiguration(
                tls: TLSFiles(certificatePath: directory.file("none"), keyPath: files.keyPath)
            ),
            handler: ScriptedHandler()
        )
        #expect(throws: HTTPServerError.self) { try missing.start() }
    }
}

/// A self-signed certificate for 127.0.0.1 and its key, used by tests alone.
enum TestCertificate {
    static func write(to directory: TemporaryDirectory) throws -> TLSFiles {
        let files = TLSFiles(
            certificatePath: directory.file("cert.pem"),
            keyPath: directory.file("key.pem")
        )
        try write(certificate, to: files.certificatePath)
        try write(key, to: files.keyPath)
        return files
    }

    private static func write(_ text: String, to path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        let bytes = Array(text.utf8)
        _ = Glibc.write(descriptor, bytes, bytes.count)
        close(descriptor)
    }

    private static let key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgnMIYsjnXE2cgC9fR
        5qVgfnA6M+dBrpNICCSEWLW8Vd6hRANCAARZoYeLplSmxXIcvQ0/cCan51xJrRUu
        pxnMj2OEgbF2VTmUHTS16prrMyVP2iAc9fI45o6TwG6W6HKCSPgm9nYF
        -----END PRIVATE KEY-----

        """

    private static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBoDCCAUegAwIBAgIUQJaNWAcD2/5GdrF2Xzp/tWNbTlcwCgYIKoZIzj0EAwIw
        FzEVMBMGA1UEAwwMUHVzaEJ1cyB0ZXN0MCAXDTI2MTEzMDE2MDcxMloYDzIxMjYx
        MTA2MTYwNzEyWjAXMRUwEwYDVQQDDAxQdXNoQnVzIHRlc3QwWTATBgcqhkjOPQIB
        BggqhkjOPQMBBwNCAARZoYeLplSmxXIcvQ0/cCan51xJrRUupxnMj2OEgbF2VTmU
        HTS16prrMyVP2iAc9fI45o6TwG6W6HKCSPgm9nYFo28wbTAdBgNVHQ4EFgQUbLz2
        PLUEeQumnZCwIrWycwsosE8wHwYDVR0jBBgwFoAUbLz2PLUEeQumnZCwIrWycwso
        sE8wDwYDVR0TAQH/BAUwAwEB/zAaBgNVHREEEzARhwR/AAABgglsb2NhbGhvc3Qw
        CgYIKoZIzj0EAwIDRwAwRAIgUofCswPeb6sVJSDlLKcv8dpWTNQuCAbF9+idabeX
        xGYCIBPh0N2+yZF0DJjY9iQXNyxB47rSjkqjxb7Tq1LC33qr
        -----END CERTIFICATE-----

        """
}
