import Contracts
import FoundationEssentials
import HTTP2
import HTTPServer

extension ControlAPI {
    private struct Wish: Decodable {
        var environment: APNsEnvironment?
        var reason: String?
        var code: String?
        var last_stream: Int32?
        var graceful: Bool?
        var close: Bool?
        var count: Int?
        var hang: Bool?
    }

    func connections(_ request: HTTPRequest, action: String?) async throws -> HTTPResponse {
        guard let action else {
            guard request.head.method == "GET" else {
                throw ControlError(405, "connections take GET; POST needs what to do in the path")
            }
            return .json(200, Self.json(await hosts.connections()))
        }
        guard request.head.method == "POST" else {
            throw ControlError(405, "POST does something to connections")
        }
        let wish =
            request.body.isEmpty
            ? Wish() : try JSONDecoder().decode(Wish.self, from: Data(request.body))
        var json = CompactJSON()
        let count = try await act(action, wish)
        json.object { $0.field("connections", count) }
        return .json(200, json.bytes)
    }

    private func act(_ action: String, _ wish: Wish) async throws -> Int {
        switch action {
        case "goaway": return try await goAway(wish)
        case "close": return await hosts.each(wish.environment) { $0.close() }
        case "pings":
            let count = wish.count ?? 1
            guard (1...10_000).contains(count) else {
                throw ControlError(400, "count is 1 to 10000")
            }
            return await hosts.each(wish.environment) { $0.sendPings(count) }
        case "hang":
            let hangs = wish.hang ?? true
            return await hosts.each(wish.environment) { $0.pauseReading(hangs) }
        default:
            throw ControlError(404, "connections take POST /goaway, /close, /pings and /hang")
        }
    }

    private func goAway(_ wish: Wish) async throws -> Int {
        guard let code = HTTP2ErrorCode(name: wish.code ?? "NO_ERROR") else {
            throw ControlError(400, "code is a name of RFC 9113 section 7, such as NO_ERROR")
        }
        guard (0...Int32.max).contains(wish.last_stream ?? 0) else {
            throw ControlError(400, "last_stream is 0 or more")
        }
        let data = SimulatedHost.goAwayData(wish.reason)
        return await hosts.each(wish.environment) { connection in
            if wish.graceful ?? true {
                connection.shutDownGracefully(debugData: data)
            } else {
                connection.goAway(
                    lastStream: wish.last_stream,
                    code: code,
                    debugData: data,
                    thenClose: wish.close ?? false
                )
            }
        }
    }

    private static func json(_ connections: [SimulatedHosts.ConnectionFacts]) -> [UInt8] {
        var json = CompactJSON()
        json.object {
            $0.key("connections")
            $0.array { json in for entry in connections { write(entry, to: &json) } }
        }
        return json.bytes
    }

    private static func write(
        _ entry: SimulatedHosts.ConnectionFacts,
        to json: inout CompactJSON
    ) {
        json.object {
            $0.field("id", entry.id)
            $0.field("environment", entry.environment.rawValue)
            $0.field("requests", entry.requests)
            $0.field("streams", entry.streams)
            $0.field("pings", entry.pings)
            if let binding = entry.binding {
                $0.field("team_id", binding.teamID)
                $0.key("topic_specific")
                $0.value(binding.isTopicSpecific)
                $0.key("topics")
                $0.array { json in for topic in binding.topics.sorted() { json.value(topic) } }
            }
            $0.key("tokens")
            $0.array { json in
                for use in entry.tokens {
                    json.object {
                        $0.field("key_id", use.token.keyID)
                        $0.field("issued_at", use.token.issuedAtSeconds)
                        $0.field("used_since", use.sinceSeconds)
                    }
                }
            }
        }
    }
}
