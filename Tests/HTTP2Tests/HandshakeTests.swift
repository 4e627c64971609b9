import HTTP2
import Loop
import TLS
import TestKit
import Testing

@Suite(.timeLimit(.minutes(1)))
struct HandshakeTests {
    @Test("a trusted server answers")
    func trusted() async throws {
        let fixture = try await HTTP2Fixture()
        let connection = try await fixture.connected()
        let outcome = await connection.send(.push(), timeout: .seconds(10))
        #expect(outcome.status == 200)
        connection.shutDown()
        await fixture.stop()
    }

    @Test("the host name is looked up and checked")
    func hostName() async throws {
        let fixture = try await HTTP2Fixture()
        let connection = try fixture.connection(host: "localhost")
        try await connection.connect(timeout: .seconds(10))
        #expect(await connection.send(.push(), timeout: .seconds(10)).status == 200)
        connection.shutDown()
        await fixture.stop()
    }

    @Test(
        "a certificate that must not be trusted is refused",
        arguments: [
            ("good", "other-ca"), ("expired", "ca"), ("future", "ca"), ("elsewhere", "ca"),
            ("self-signed", "ca"),
        ]
    )
    func refused(certificate: String, authority: String) async throws {
        let fixture = try await HTTP2Fixture(certificate: certificate)
        let connection = try fixture.connection(trusting: authority)
        do throws(HTTP2Closure) {
            try await connection.connect(timeout: .seconds(10))
            Issue.record("the handshake must fail")
        } catch {
            guard case .transport(let cause) = error else {
                Issue.record("unexpected \(error)")
                return
            }
            #expect(cause.code == .verification)
            #expect(cause.verifyCode != 0)
            #expect(!cause.isRetriable)
        }
        await fixture.stop()
    }

    @Test("TLS 1.2 is enough, TLS 1.1 is refused by the client", arguments: [true, false])
    func oldServer(isTooOld: Bool) async throws {
        let fixture = try await HTTP2Fixture(maximumVersion: isTooOld ? .tls11 : .tls12)
        let connection = try fixture.connection()
        do throws(HTTP2Closure) {
            try await connection.connect(timeout: .seconds(10))
            #expect(!isTooOld)
            #expect(await connection.send(.push(), timeout: .seconds(10)).status == 200)
            connection.shutDown()
        } catch {
            #expect(isTooOld)
            guard case .transport(let cause) = error else {
                Issue.record("unexpected \(error)")
                return
            }
            #expect(cause.code == .handshake)
        }
        await fixture.stop()
    }

    @Test("TLS 1.1 is refused by the server")
    func oldClient() async throws {
        let fixture = try await HTTP2Fixture()
        let old = try fixture.certificates.client(maximumVersion: .tls11)
        let connection = try fixture.connection { $0.tls = old }
        await #expect(throws: HTTP2Closure.self) {
            try await connection.connect(timeout: .seconds(10))
        }
        #expect(fixture.handler.script.withLock { $0.connections } == 0)
        await fixture.stop()
    }

    @Test("a server without ALPN is refused")
    func noALPN() async throws {
        let fixture = try await HTTP2Fixture(http2: false)
        let connection = try fixture.connection()
        do throws(HTTP2Closure) {
            try await connection.connect(timeout: .seconds(10))
            Issue.record("the handshake must fail")
        } catch {
            guard case .transport(let cause) = error else {
                Issue.record("unexpected \(error)")
                return
            }
            #expect(cause.code == .applicationProtocol)
        }
        await fixture.stop()
    }

    @Test("a peer that takes the connection and never shakes hands ends at the timeout")
    func silentPeer() async throws {
        let fixture = try await HTTP2Fixture()
        let peer = try ListeningSocket()
        let connection = try fixture.connection { $0.port = peer.port }
        await #expect(throws: HTTP2Closure.connectTimeout) {
            try await connection.connect(timeout: .milliseconds(100))
        }
        // Others on the same loop are not held up.
        let other = try await fixture.connected()
        #expect(await other.send(.push(), timeout: .seconds(10)).status == 200)
        other.shutDown()
        await fixture.stop()
    }

    @Test("nobody listening is a connect failure")
    func connectRefused() async throws {
        let fixture = try await HTTP2Fixture()
        await fixture.server.stop()
        let connection = try fixture.connection()
        await #expect(throws: HTTP2Closure.connect("Connection refused")) {
            try await connection.connect(timeout: .seconds(10))
        }
        await fixture.stop()
    }

    @Test("missing or foreign files are configuration errors")
    func badFiles() throws {
        let certificates = try TestCertificates.shared.get()
        #expect {
            try TLSContext.client(trust: .file("/nonexistent.pem"))
        } throws: {
            ($0 as? TLSError)?.code == .configuration
        }
        #expect {
            try TLSContext.server(
                certificateChainFile: "\(certificates.folder)/good.pem",
                privateKeyFile: "\(certificates.folder)/expired.key"
            )
        } throws: {
            ($0 as? TLSError)?.code == .configuration
        }
    }
}
