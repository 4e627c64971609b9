import HTTPClient
import PushBusDevice

/// The device's requests over libcurl: system certificate authorities, no redirects.
struct CurlTransport: HTTPTransport {
    let client: HTTPClient

    func send(_ request: TransportRequest) async throws(TransportFailure) -> TransportReply {
        do throws(HTTPClientError) {
            let reply = try await client.send(
                HTTPClientRequest(
                    method: request.method,
                    url: request.url,
                    headers: request.headers.map { ($0.name, $0.value) },
                    body: request.body,
                    timeout: .seconds(request.timeoutSeconds),
                    maximumReplyBytes: request.maximumReplyBytes
                )
            )
            return TransportReply(
                status: reply.status,
                headers: reply.headers,
                body: reply.body
            )
        } catch {
            throw TransportFailure(error.message)
        }
    }
}
