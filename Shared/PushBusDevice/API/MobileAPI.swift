import Contracts

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The mobile endpoints of one server, one method each; it remembers nothing.
package struct MobileAPI: Sendable {
    package let address: ServerAddress
    private let transport: any HTTPTransport

    /// Seconds until a request is given up.
    package static let timeoutSeconds = 20
    /// Bytes of the longest reply that is read.
    package static let maximumReplyBytes = 64 << 10

    package init(address: ServerAddress, transport: any HTTPTransport) {
        self.address = address
        self.transport = transport
    }

    /// Sends a request and unwraps `data` of a success.
    func call<Answer: Decodable>(
        _ method: String,
        _ path: String,
        bearer: String? = nil,
        body: (any Encodable & Sendable)? = nil,
        as _: Answer.Type = Answer.self
    ) async throws(DeviceError) -> Answer {
        let reply = try await exchange(method, path, bearer: bearer, body: body)
        do {
            return try JSONDecoder().decode(Wrapped<Answer>.self, from: Data(reply.body)).data
        } catch {
            throw DeviceError(
                .malformedReply,
                "the reply of \(path) is not what this API answers: check the server's address",
                status: reply.status
            )
        }
    }

    /// Sends a request whose success has nothing to say.
    func call(
        _ method: String,
        _ path: String,
        bearer: String? = nil,
        body: (any Encodable & Sendable)? = nil
    ) async throws(DeviceError) {
        _ = try await exchange(method, path, bearer: bearer, body: body)
    }

    /// Sends a request whose success must be said by this API, not by whatever else answers there: a
    /// reply of a portal between phone and server ends no session.
    func confirm(
        _ method: String,
        _ path: String,
        bearer: String? = nil,
        body: (any Encodable & Sendable)? = nil
    ) async throws(DeviceError) {
        _ = try await call(method, path, bearer: bearer, body: body, as: [String: JSONValue].self)
    }

    private func exchange(
        _ method: String,
        _ path: String,
        bearer: String?,
        body: (any Encodable & Sendable)?
    ) async throws(DeviceError) -> TransportReply {
        var headers = [(name: "Accept", value: "application/json")]
        if let bearer { headers.append((name: "Authorization", value: "Bearer \(bearer)")) }
        var bytes: [UInt8] = []
        if let body {
            headers.append((name: "Content-Type", value: "application/json"))
            do { bytes = [UInt8](try Self.encode(body)) } catch {
                throw DeviceError(.refused, "the request cannot be written as JSON")
            }
        }
        let request = TransportRequest(
            method: method,
            url: address.url(path),
            headers: headers,
            body: bytes,
            timeoutSeconds: Self.timeoutSeconds,
            maximumReplyBytes: Self.maximumReplyBytes
        )
        let reply: TransportReply
        do throws(TransportFailure) {
            reply = try await transport.send(request)
        } catch {
            throw DeviceError(.unreachable, "\(address) was not reached: \(error)")
        }
        if (200...299).contains(reply.status) { return reply }
        throw Self.error(of: reply)
    }

    private static func encode(_ body: any Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(body)
    }

    private static func error(of reply: TransportReply) -> DeviceError {
        let said = try? JSONDecoder().decode(Refusal.self, from: Data(reply.body))
        let (code, fallback) = meaning(of: reply.status, said?.code)
        return DeviceError(
            code,
            said?.message ?? fallback,
            status: reply.status,
            serverCode: said?.code,
            retryAfterSeconds: reply.header("Retry-After").flatMap(Int.init)
        )
    }
}

extension MobileAPI {
    /// What a failed status and the server's word for it mean to the phone.
    private static func meaning(
        of status: Int,
        _ word: String?
    ) -> (code: DeviceError.Code, message: String) {
        switch (status, word) {
        case (300...399, _): (.redirected, "the server redirects, which the app never follows")
        case (400, "relay_not_configured"):
            (.relayMissing, "the server has no relay to send with: its operator has to set one up")
        case (401, "one_time_code_required"):
            (.oneTimeCodeRequired, "the account asks for a one-time code: give it too")
        case (401, _): (.unauthorized, "the credentials were not accepted: sign in again")
        case (403, "owned_elsewhere"):
            (.ownedElsewhere, "another account still owns this installation: end its login first")
        case (403, _): (.forbidden, "this account may not do that here")
        case (404, _), (405, _), (410, _):
            (.unsupported, "the server does not know this: it may be too old")
        case (409, nil), (409, "stale_revision"):
            (.staleRevision, "the settings changed meanwhile: read them again")
        case (408, _): (.unavailable, "the server gave up waiting: try again")
        case (429, _): (.throttled, "too many tries: wait before the next one")
        case (500...599, _): (.unavailable, "the server cannot answer now: try again later")
        default: (.refused, "the server refused the request")
        }
    }
}

private struct Wrapped<Value: Decodable>: Decodable {
    var data: Value
}

/// What a refusal says, as `{"error":{"code":…,"message":…}}` or `{"error":"…"}`.
private struct Refusal: Decodable {
    var code: String?
    var message: String?

    private struct Detail: Decodable {
        var code: String?
        var message: String?
    }

    enum CodingKeys: String, CodingKey {
        case error
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let detail = try? container.decode(Detail.self, forKey: .error) {
            code = detail.code
            message = detail.message
        } else {
            message = try container.decode(String.self, forKey: .error)
        }
        // A text of another party is shown to people: keep it short and on one line.
        message = message.map { String($0.prefix(200).filter { !$0.isNewline }) }
    }
}
