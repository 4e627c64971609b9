import Contracts
import FoundationEssentials
import HTTP2
import HTTPServer
import Loop
import PushBusCrypto

extension ControlAPI {
    // MARK: Settings and clock

    func settings(_ request: HTTPRequest) async throws -> HTTPResponse {
        switch request.head.method {
        case "GET": break
        case "PATCH":
            let change = try JSONDecoder().decode(
                SimulatorSettings.Change.self,
                from: Data(request.body)
            )
            let new = try state.content.withLock { content in
                try change.apply(to: &content.settings)
                content.registry.rejectsUnknown = content.settings.rejectsUnknownTokens
                return content.settings
            }
            await hosts.apply(new)
        default: throw ControlError(405, "settings take GET and PATCH")
        }
        let settings = state.content.withLock { $0.settings }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return .json(200, [UInt8](try encoder.encode(settings)))
    }

    private struct ClockBody: Decodable {
        var advance_ms: Int64
    }

    func clock(_ request: HTTPRequest) throws -> HTTPResponse {
        switch request.head.method {
        case "GET": break
        case "POST":
            let body = try JSONDecoder().decode(ClockBody.self, from: Data(request.body))
            state.content.withLock { content in
                let (sum, overflow) = content.clockOffsetMilliseconds.addingReportingOverflow(
                    body.advance_ms
                )
                if !overflow { content.clockOffsetMilliseconds = sum }
            }
        default: throw ControlError(405, "the clock takes GET and POST")
        }
        var json = CompactJSON()
        json.object { $0.field("now_ms", state.now.milliseconds) }
        return .json(200, json.bytes)
    }

    // MARK: Connections

    private struct EndBody: Decodable {
        var environment: APNsEnvironment?
        var reason: String?
        var last_stream: Int32?
        var graceful: Bool?
        var close: Bool?
    }

    func connections(_ request: HTTPRequest, action: String?) async throws -> HTTPResponse {
        guard let action else {
            guard request.head.method == "GET" else {
                throw ControlError(405, "connections take GET, POST /goaway and POST /close")
            }
            let found = await hosts.connections()
            var json = CompactJSON()
            json.object {
                $0.key("connections")
                $0.array { json in
                    for entry in found {
                        json.object {
                            $0.field("id", entry.id)
                            $0.field("environment", entry.environment.rawValue)
                            $0.field("requests", entry.requests)
                            $0.field("streams", entry.streams)
                            $0.field("pings", entry.pings)
                        }
                    }
                }
            }
            return .json(200, json.bytes)
        }
        guard request.head.method == "POST" else {
            throw ControlError(405, "POST ends connections")
        }
        let body =
            request.body.isEmpty
            ? EndBody() : try JSONDecoder().decode(EndBody.self, from: Data(request.body))
        let count: Int
        switch action {
        case "goaway":
            let data = SimulatedHost.goAwayData(body.reason)
            count = await hosts.each(body.environment) { connection in
                if body.graceful ?? true {
                    connection.shutDownGracefully(debugData: data)
                } else {
                    connection.goAway(
                        lastStream: body.last_stream,
                        debugData: data,
                        thenClose: body.close ?? false
                    )
                }
            }
        case "close": count = await hosts.each(body.environment) { $0.close() }
        default: throw ControlError(404, "connections take POST /goaway and POST /close")
        }
        var json = CompactJSON()
        json.object { $0.field("connections", count) }
        return .json(200, json.bytes)
    }

    // MARK: Statistics

    func statistics() -> HTTPResponse {
        let (statistics, tokens, devices) = state.content.withLock {
            ($0.statistics, $0.verifier.distinctTokens, $0.registry.devices.count)
        }
        var json = CompactJSON()
        json.object {
            $0.field("requests", statistics.requests)
            $0.field("connections", statistics.connections)
            $0.field("provider_tokens", tokens)
            $0.field("devices", devices)
            $0.field("resets", statistics.resets)
            $0.field("goaways", statistics.goAways)
            $0.field("silences", statistics.silences)
            $0.key("answers")
            $0.object { json in
                for (answer, count) in statistics.answers.sorted(by: { $0.key < $1.key }) {
                    json.field(answer, count)
                }
            }
        }
        return .json(200, json.bytes)
    }
}
