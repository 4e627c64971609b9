import Contracts
import FoundationEssentials
import HTTPServer
import Loop
import PushBusCrypto

extension ControlAPI {
    // MARK: Settings and clock

    func settings(_ request: HTTPRequest) async throws -> HTTPResponse {
        switch request.head.method {
        case "GET": break
        case "PATCH":
            let old = state.content.withLock { $0.settings }
            let new = try old.changed(by: request.body)
            try await hosts.apply(new)
            state.content.withLock { $0.settings = new }
        default: throw ControlError(405, "settings take GET and PATCH")
        }
        let settings = state.content.withLock { $0.settings }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return .json(200, [UInt8](try encoder.encode(settings)))
    }

    private struct ClockBody: Decodable {
        var advance_ms: Int64?
        var now_ms: Int64?
        var frozen: Bool?
    }

    func clock(_ request: HTTPRequest) async throws -> HTTPResponse {
        switch request.head.method {
        case "GET": break
        case "POST":
            let body = try JSONDecoder().decode(ClockBody.self, from: Data(request.body))
            try state.content.withLock { (content) throws(ControlError) in
                if let isFrozen = body.frozen { content.clock.freeze(isFrozen) }
                guard body.now_ms != nil || body.advance_ms != nil else { return }
                let from = body.now_ms ?? content.now.milliseconds
                let (sum, isBeyond) = from.addingReportingOverflow(body.advance_ms ?? 0)
                guard !isBeyond, content.clock.move(to: UnixMilliseconds(sum)) else {
                    throw ControlError(400, "the clock goes from 0 to 100000000000000 ms")
                }
            }
            await hosts.clockMoved()
        default: throw ControlError(405, "the clock takes GET and POST")
        }
        let (now, isFrozen) = state.content.withLock { ($0.now, $0.clock.isFrozen) }
        var json = CompactJSON()
        json.object {
            $0.field("now_ms", now.milliseconds)
            $0.key("frozen")
            $0.value(isFrozen)
        }
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
            $0.field("refused_connections", statistics.refusedConnections)
            $0.field("provider_tokens", tokens)
            $0.field("devices", devices)
            $0.field("resets", statistics.resets)
            $0.field("goaways", statistics.goAways)
            $0.field("silences", statistics.silences)
            $0.key("answers")
            $0.object { json in
                if statistics.accepted > 0 { json.field("200", statistics.accepted) }
                for (answer, count) in statistics.refusals.sorted(by: { $0.key < $1.key }) {
                    json.field(answer, count)
                }
            }
        }
        return .json(200, json.bytes)
    }
}
