import Contracts
import FoundationEssentials
import HTTPClient
import Loop

/// The phone's line to the APNs simulator: a device token, and what is pushed to it.
struct SimulatorClient: Sendable {
    let address: String
    let client: HTTPClient
    let environment: APNsEnvironment

    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    /// One push as it reached the phone.
    struct Push: Sendable {
        var number: Int64
        var apnsID: String
        var payload: [UInt8]
    }

    /// What a stream brings.
    enum Item: Sendable {
        /// The line stands, to this run of the simulator.
        case listening(run: String?)
        case push(Push)
    }

    private struct Issued: Decodable {
        var token: DeviceToken
    }

    private struct Listening: Decodable {
        var run: String?
    }

    private struct Received: Decodable {
        var received: [Notification]
    }

    private struct Notification: Decodable {
        var number: Int64
        var apnsID: String
        var payload: Blob

        enum CodingKeys: String, CodingKey {
            case number
            case apnsID = "apns_id"
            case payload = "payload_base64"
        }

        var push: Push { Push(number: number, apnsID: apnsID, payload: payload.bytes) }
    }

    /// Has a new token issued, as iOS does at the first launch.
    func issueToken() async throws -> DeviceToken {
        let body = JSONValue.object(["environment": .string(environment.rawValue)])
        let request = HTTPClientRequest(
            method: "POST",
            url: address + "/tokens",
            headers: [("Content-Type", "application/json")],
            body: try body.canonicalBytes()
        )
        return try await decode(Issued.self, request).token
    }

    /// Renews a token that was issued before; the simulator may have forgotten it.
    func renew(_ token: DeviceToken) async throws {
        let request = HTTPClientRequest(method: "PUT", url: url(token, ""))
        _ = try await decode(Issued.self, request)
    }

    /// What was pushed after the push of that number.
    func received(_ token: DeviceToken, after number: Int64) async throws -> [Push] {
        let request = HTTPClientRequest(
            url: url(token, "/received") + "&after=\(number)",
            maximumReplyBytes: 64 << 20
        )
        return try await decode(Received.self, request).received.map(\.push)
    }

    /// Listens until the connection ends or the channel is full; always ends with an error.
    func stream(_ token: DeviceToken, into channel: BoundedChannel<Item>) async throws {
        let parser = Locked(EventStreamParser())
        let isFull = Locked(false)
        let request = HTTPClientRequest(url: url(token, "/stream"))
        let reply = try await client.stream(request, idleTimeout: .seconds(35)) { bytes in
            let events = parser.withLock { $0.take(bytes) }
            for event in events {
                guard let item = Self.item(of: event) else { continue }
                guard channel.trySend(item) else {
                    isFull.withLock { $0 = true }
                    return false
                }
            }
            return true
        }
        guard (200...299).contains(reply.status) else {
            throw Failure(description: "the simulator answered \(reply.status)")
        }
        throw Failure(
            description: isFull.withLock { $0 }
                ? "pushes came faster than they were opened" : "the simulator ended the stream"
        )
    }

    private static func item(of event: EventStreamParser.Event) -> Item? {
        switch event.name {
        case "listening":
            let data = Data(event.data.utf8)
            return .listening(run: (try? JSONDecoder().decode(Listening.self, from: data))?.run)
        case "notification":
            let data = Data(event.data.utf8)
            return (try? JSONDecoder().decode(Notification.self, from: data)).map { .push($0.push) }
        default: return nil
        }
    }

    private func url(_ token: DeviceToken, _ tail: String) -> String {
        "\(address)/tokens/\(token.hex)\(tail)?environment=\(environment.rawValue)"
    }

    private func decode<Answer: Decodable>(
        _: Answer.Type,
        _ request: HTTPClientRequest
    ) async throws -> Answer {
        let reply: HTTPClientResponse
        do throws(HTTPClientError) {
            reply = try await client.send(request)
        } catch {
            throw Failure(description: "the simulator was not reached: \(error.message)")
        }
        guard (200...299).contains(reply.status) else {
            throw Failure(description: "the simulator answered \(reply.status)")
        }
        guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(reply.body)) else {
            throw Failure(description: "the simulator answered something else: check --simulator")
        }
        return answer
    }
}
