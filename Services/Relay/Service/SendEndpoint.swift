import Contracts
import HTTPServer
import RelayCore
import ServiceKit

/// `POST /v1/send`: public and without credential, with its checks in a fixed order.
package struct SendEndpoint: HTTPHandler {
    private let relay: Relay
    private let limits: SendLimits
    private let time: any TimeSource
    private let metrics: Metrics

    package init(relay: Relay, limits: SendLimits, time: any TimeSource, metrics: Metrics) {
        self.relay = relay
        self.limits = limits
        self.time = time
        self.metrics = metrics
    }

    private var now: Int64 { time.monotonic.nanoseconds / 1_000_000 }

    package func admit(_ head: HTTPRequestHead) -> HTTPAdmission {
        if let reply = refusalByPath(head) { return .respond(response(reply)) }
        guard limits.enter() else { return .respond(response(.busy)) }
        if let reply = refusalByHead(head) {
            limits.leave()
            return .respond(response(reply))
        }
        return .read(limit: limits.settings.bodyBytes)
    }

    private func refusalByPath(_ head: HTTPRequestHead) -> SendReply? {
        if head.path != "/v1/send" { return .notFound }
        return head.method == "POST" ? nil : .methodNotAllowed
    }

    private func refusalByHead(_ head: HTTPRequestHead) -> SendReply? {
        if !limits.admitRequest(from: head.source, nowMilliseconds: now) { return .rateLimited }
        if !relay.isConfigured { return .notConfigured }
        let isPlain = head.headers.all("Content-Encoding").allSatisfy {
            Self.lowered($0) == "identity"
        }
        return Self.isJSON(head.headers.all("Content-Type")) && isPlain
            ? nil : .unsupportedMediaType
    }

    private static func isJSON(_ values: [String]) -> Bool {
        guard values.count == 1, let value = values.first else { return false }
        return lowered(String(value.prefix { $0 != ";" })) == "application/json"
    }

    private static func lowered(_ text: String) -> String {
        let isSpace = { (character: Character) in character == " " || character == "\t" }
        let head = text.drop(while: isSpace)
        let end = head.lastIndex { !isSpace($0) }.map { head.index(after: $0) }
        return head[..<(end ?? head.startIndex)].lowercased()
    }

    package func respond(_ request: HTTPRequest) async -> HTTPResponse {
        let message: RelaySend.Message
        do throws(ContractViolation) {
            message = try SendRequest.parse(
                request.body,
                now: time.wall.second,
                horizon: limits.settings.horizon
            )
        } catch {
            return response(.invalidRequest)
        }
        guard relay.serves(message.environment) else {
            return response(SendReply(.environmentDisabled))
        }
        guard message.expiresAt > time.wall.second else { return response(SendReply(.expired)) }
        let isAdmitted = limits.admitTarget(
            message.deviceToken,
            message.environment,
            nowMilliseconds: now
        )
        guard isAdmitted else { return response(.rateLimited) }
        return response(SendReply(await relay.send(message)))
    }

    package func refusal(_ refusal: HTTPRefusal, _ head: HTTPRequestHead) -> HTTPResponse {
        switch refusal {
        case .malformed: response(.invalidRequest)
        case .bodyTooLarge: response(.requestTooLarge)
        case .uploadTimeout: response(.requestTimeout)
        case .busy, .stopping: response(.busy)
        case .deadline: response(SendReply(.network(.ambiguous)))
        }
    }

    package func ended(_ head: HTTPRequestHead) { limits.leave() }

    private func response(_ reply: SendReply) -> HTTPResponse {
        metrics.counter(
            "pushbus_relay_requests_total",
            help: "Answers of POST /v1/send",
            labels: [
                "status": String(reply.status), "reason": reply.reason,
            ]
        ).add()
        return .json(
            reply.status,
            reply.body,
            headers: [("Cache-Control", "no-store")] + reply.headers.map { ($0.name, $0.value) }
        )
    }
}
