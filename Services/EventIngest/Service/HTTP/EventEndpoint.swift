import Contracts
import EventIngestCore
import FoundationEssentials
import HTTPServer
import ServiceKit

/// The HTTP ways in: `POST /v1/events` and `POST /v1/hooks/alertmanager`, both with a bearer key.
package struct EventEndpoint: HTTPHandler {
    private enum Route: String, CaseIterable {
        case events = "/v1/events"
        case alertmanager = "/v1/hooks/alertmanager"
    }

    /// How an event, or several, stand in a request.
    private enum Form {
        case structured
        case batch
        case binary
    }

    /// Every path that is answered with more than 404.
    package static let paths = Route.allCases.map(\.rawValue)

    private let publishing: EventPublishing
    private let keys: IntegratorKeys
    private let metrics: Metrics
    private let log: Log

    package init(
        publishing: EventPublishing,
        keys: IntegratorKeys,
        context: ProcessContext
    ) {
        self.publishing = publishing
        self.keys = keys
        metrics = context.metrics
        log = context.log
    }

    package func admit(_ head: HTTPRequestHead) -> HTTPAdmission {
        guard let route = Route(rawValue: head.path) else {
            return .respond(refuse(404, "not_found", "There is nothing at this path."))
        }
        guard head.method == "POST" else {
            return .respond(
                refuse(405, "method_not_allowed", "Send a POST.", headers: [("Allow", "POST")])
            )
        }
        guard owner(head) != nil else {
            return .respond(
                refuse(
                    401,
                    "unauthorized",
                    "Send a valid key as Authorization: Bearer.",
                    headers: [("WWW-Authenticate", "Bearer")]
                )
            )
        }
        let isPlain = head.headers.all("Content-Encoding").allSatisfy {
            $0.lowercased() == "identity"
        }
        let isTaken =
            switch route {
            case .events: Self.form(head) != nil
            case .alertmanager: Self.mediaType(head) == "application/json"
            }
        guard isPlain, isTaken else {
            return .respond(
                refuse(
                    415,
                    "unsupported_media_type",
                    "Send application/cloudevents+json, application/cloudevents-batch+json, or JSON"
                        + " with ce- headers; the Alertmanager hook takes application/json."
                )
            )
        }
        return .read(limit: BusLimits.messageBytes)
    }

    package func respond(_ request: HTTPRequest) async -> HTTPResponse {
        // The key may have been revoked while the body came in.
        guard let owner = owner(request.head), let route = Route(rawValue: request.head.path) else {
            return refuse(401, "unauthorized", "Send a valid key as Authorization: Bearer.")
        }
        do throws(Reject) {
            switch route {
            case .events: return try await events(request, from: owner)
            case .alertmanager: return try await alertmanager(request, from: owner)
            }
        } catch {
            return refuse(error)
        }
    }

    private func events(
        _ request: HTTPRequest,
        from owner: String
    ) async throws(Reject) -> HTTPResponse {
        let body = Self.json(request.body)
        let form = Self.form(request.head) ?? .structured
        let events: [Result<JSONValue, ContractViolation>]
        switch form {
        case .binary:
            do throws(ContractViolation) {
                let fields = request.head.headers.fields
                events = [.success(try BinaryCloudEvent.structured(fields, data: body))]
            } catch {
                events = [.failure(error)]
            }
        case .structured:
            guard let body else { throw Reject(.malformed, "The body must be JSON.") }
            events = [.success(body)]
        case .batch:
            guard case .array(let batch)? = body else {
                throw Reject(.malformed, "The body must be a JSON array of events.")
            }
            guard batch.count <= BusLimits.records else {
                throw Reject(.tooLarge, "A batch holds at most \(BusLimits.records) events.")
            }
            events = batch.map { .success($0) }
        }
        let answer = try await publishing.publish(
            events,
            as: .integrator(owner),
            traceparent: form == .binary ? nil : request.head.headers["traceparent"]
        )
        let status = form == .batch ? 200 : Self.status(answer.results)
        return reply(status, answer)
    }

    private func alertmanager(
        _ request: HTTPRequest,
        from owner: String
    ) async throws(Reject) -> HTTPResponse {
        guard let body = Self.json(request.body) else {
            throw Reject(.malformed, "The body must be JSON.")
        }
        let payload: AlertmanagerPayload
        do throws(ContractViolation) {
            payload = try AlertmanagerPayload(body)
        } catch {
            throw Reject(.malformed, error.reason, pointer: error.pointer)
        }
        if payload.truncated > 0 {
            log.warning(
                "alertmanager left alerts out",
                ["principal": .string(owner), "count": .int(payload.truncated)]
            )
        }
        let answer = try await publishing.publish(
            payload.entries.map(\.event),
            as: .integrator(owner)
        )
        return reply(Self.status(answer.results), answer)
    }

    package func refusal(_ refusal: HTTPRefusal, _ head: HTTPRequestHead) -> HTTPResponse {
        let retry = refusal.status == 503 ? [("Retry-After", "1")] : []
        return refuse(
            refusal.status,
            refusal.code,
            "The request was not taken; send it again, or a smaller one.",
            headers: retry
        )
    }

    private func owner(_ head: HTTPRequestHead) -> String? {
        let values = head.headers.all("Authorization")
        guard values.count == 1, let words = values.first?.split(separator: " "),
            words.count == 2, words[0].lowercased() == "bearer"
        else { return nil }
        return keys.owner(of: String(words[1]))
    }
}

extension EventEndpoint {
    private static func mediaType(_ head: HTTPRequestHead) -> String? {
        let values = head.headers.all("Content-Type")
        guard values.count == 1, let value = values.first else { return nil }
        return value.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased()
    }

    private static func form(_ head: HTTPRequestHead) -> Form? {
        switch mediaType(head) {
        case "application/cloudevents+json": .structured
        case "application/cloudevents-batch+json": .batch
        case let type? where !type.hasPrefix("application/cloudevents"):
            BinaryCloudEvent.isOne(head.headers.fields) ? .binary : nil
        default: nil
        }
    }

    private static func json(_ body: [UInt8]) -> JSONValue? {
        try? JSONDecoder().decode(JSONValue.self, from: Data(body))
    }

    /// The worst answer decides: a producer that looks at the status alone never takes a loss for
    /// a success.
    private static func status(_ results: [EventPublishAnswer.Result]) -> Int {
        let statuses = Set(results.map(\.status))
        if statuses.contains(.retryAfter) { return 503 }
        if statuses.contains(.invalid) { return 400 }
        return statuses.contains(.conflict) ? 409 : 200
    }

    private func reply(_ status: Int, _ answer: EventPublishAnswer) -> HTTPResponse {
        count(status)
        let wait = answer.results.compactMap(\.retryAfterMilliseconds).max()
        let retry = status == 503 ? [("Retry-After", "\(((wait ?? 1000) + 999) / 1000)")] : []
        let body = (try? JSONEncoder().encode(answer)).map { [UInt8]($0) } ?? []
        return .json(status, body, headers: Self.plain + retry)
    }

    private func refuse(_ reject: Reject) -> HTTPResponse {
        let (status, code) =
            switch reject.code {
            case .retryAfter: (503, "retry_after")
            case .tooLarge: (413, "request_too_large")
            default: (400, "malformed")
            }
        let wait = ((reject.retryAfterMilliseconds ?? 1000) + 999) / 1000
        return refuse(
            status,
            code,
            reject.message + (reject.pointer.map { " (at \($0))" } ?? ""),
            headers: status == 503 ? [("Retry-After", "\(wait)")] : []
        )
    }

    private func refuse(
        _ status: Int,
        _ code: String,
        _ message: String,
        headers: [(String, String)] = []
    ) -> HTTPResponse {
        count(status)
        var json = CompactJSON()
        json.object { json in
            json.key("error")
            json.object { json in
                json.field("code", code)
                json.field("message", message)
            }
        }
        return .json(status, json.bytes, headers: Self.plain + headers)
    }

    private static let plain = [("Cache-Control", "no-store")]

    private func count(_ status: Int) {
        metrics.counter(
            "pushbus_eventingest_http_total",
            help: "Answers to HTTP requests, by status.",
            labels: ["status": "\(status)"]
        ).add()
    }
}
