import Contracts
import FoundationEssentials
import Glibc
import HTTPServer
import PushBusCrypto
import TestKit

/// The stub relay at `POST /v1/send` over TLS.
final class HTTPSRelay: HTTPHandler {
    /// What the reply says beyond the reference contract.
    enum Manner: Sendable {
        case withHeaders
        case contractAlone
    }

    struct State: Sendable {
        var heads: [HTTPRequestHead] = []
        var current = 0
        var most = 0
        /// Replaces the relay's own reply.
        var override: HTTPResponse?
    }

    let state = Observed(State())
    private let relay: StubRelay
    private let manner: Manner

    init(_ relay: StubRelay, _ manner: Manner = .withHeaders) {
        self.relay = relay
        self.manner = manner
    }

    func start(
        in folder: String,
        port: UInt16 = 0
    ) async throws -> (port: UInt16, stop: @Sendable () async -> Void) {
        let server = HTTPServer(
            configuration: HTTPServerConfiguration(
                port: port,
                tls: try RelayCertificate.write(to: folder)
            ),
            handler: self
        )
        let port = try server.start()
        return (port, { await server.stop() })
    }

    func admit(_ head: HTTPRequestHead) -> HTTPAdmission {
        state.update { $0.heads.append(head) }
        return .read(limit: 8192)
    }

    func respond(_ request: HTTPRequest) async -> HTTPResponse {
        if let response = state.value.override { return response }
        guard request.head.path == "/v1/send", request.head.method == "POST",
            request.head.headers["Content-Type"] == "application/json",
            let message = Self.message(request.body)
        else { return .text(400, "not a request of the contract") }
        state.update {
            $0.current += 1
            $0.most = max($0.most, $0.current)
        }
        defer { state.update { $0.current -= 1 } }
        guard let reply = await relay.take(message) else { return .text(500, "no reply") }
        return response(reply)
    }

    private func response(_ reply: StubRelay.Reply) -> HTTPResponse {
        var json = CompactJSON()
        json.object {
            $0.field("outcome", reply.outcome.rawValue)
            $0.field("reason", reply.publicReason ?? reply.reason)
            $0.key("device_invalid")
            $0.value(reply.isDeviceInvalid)
        }
        var headers = [("Cache-Control", "no-store")]
        // The reference states a wait with 429 and 503 only.
        if let wait = reply.retryAfter, manner == .withHeaders || reply.status != 200 {
            headers.append(("Retry-After", String(wait / 1000)))
        }
        if manner == .withHeaders {
            headers.append(("PushBus-Reason", reply.reason))
            headers.append(("PushBus-Scope", reply.scope.rawValue))
            headers.append(("PushBus-Exposure", reply.exposure.rawValue))
            if let cleanup = reply.cleanup {
                headers.append(("PushBus-Cleanup", cleanup.rawValue))
            }
            if let timestamp = reply.timestamp {
                headers.append(("PushBus-APNs-Timestamp", String(timestamp.milliseconds)))
            }
        }
        return .json(reply.status, json.bytes, headers: headers)
    }

    static func message(_ body: [UInt8]) -> RelaySend.Message? {
        struct Body: Decodable {
            var device_token: DeviceToken
            var environment: APNsEnvironment
            var event_id: EventID
            var expires_at: UnixSeconds
            var envelope: Envelope
        }
        guard let body = try? JSONDecoder().decode(Body.self, from: Data(body)) else { return nil }
        return RelaySend.Message(
            deviceToken: body.device_token,
            environment: body.environment,
            eventID: body.event_id,
            expiresAt: body.expires_at,
            envelope: body.envelope,
            isYoung: false
        )
    }
}

/// A certificate for 127.0.0.1 and the authority behind it, made for one test.
enum RelayCertificate {
    /// Writes `ca.pem` and what a server needs.
    static func write(to folder: String) throws -> TLSFiles {
        let now = Int64(time(nil))
        let authority = try CertificateAuthority(name: "Relay test CA", nowSeconds: now)
        let identity = try authority.issue(
            hosts: ["localhost", "127.0.0.1"],
            notBeforeSeconds: now - 3600,
            notAfterSeconds: now + 86_400
        )
        let files = TLSFiles(
            certificatePath: folder + "/relay.pem",
            keyPath: folder + "/relay.key"
        )
        try Data(authority.certificatePEM).write(to: URL(filePath: folder + "/ca.pem"))
        try Data(identity.certificatePEM).write(to: URL(filePath: files.certificatePath))
        try identity.privateKeyPEM.withBytes {
            try Data($0).write(to: URL(filePath: files.keyPath))
        }
        return files
    }
}
