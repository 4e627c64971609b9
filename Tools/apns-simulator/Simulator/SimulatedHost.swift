import Contracts
import HTTP2
import Loop
import PushBusCrypto

/// One of Apple's two hosts: answers the requests of its connections, on the loop thread.
final class SimulatedHost: HTTP2ServerHandler {
    let environment: APNsEnvironment
    private let state: SimulatorState

    init(_ environment: APNsEnvironment, state: SimulatorState) {
        self.environment = environment
        self.state = state
    }

    func connectionOpened(_ connection: HTTP2ServerConnection) {
        connection.attachment = ConnectionRecord()
        state.content.withLock { $0.statistics.connections += 1 }
    }

    func requestBegan(
        _ request: borrowing HTTP2ServerRequest,
        on connection: HTTP2ServerConnection
    ) {
        guard let (script, response) = state.judgeEarly(request, environment: environment) else {
            return
        }
        record(of: connection)?.answeredEarly.insert(request.stream)
        perform(script, response, stream: request.stream, on: connection)
    }

    func requestEnded(
        _ request: borrowing HTTP2ServerRequest,
        on connection: HTTP2ServerConnection
    ) {
        guard let record = record(of: connection) else { return }
        record.requests += 1
        let stream = request.stream
        if !record.answeredEarly.isEmpty, record.answeredEarly.remove(stream) != nil { return }
        let (verdict, answer) = state.judge(
            request,
            environment: environment,
            connection: record
        )
        adjustLimit(connection, record, answer)
        switch verdict {
        case .answer(let response, delayMilliseconds: 0):
            connection.respond(stream, response)
        case .answer(let response, delayMilliseconds: let delay):
            later(delay, connection) { connection.respond(stream, response) }
        case .scripted(let script, let response):
            perform(script, response, stream: stream, on: connection)
        }
    }

    private func record(of connection: HTTP2ServerConnection) -> ConnectionRecord? {
        connection.attachment as? ConnectionRecord
    }

    private func later(
        _ milliseconds: Int,
        _ connection: HTTP2ServerConnection,
        _ body: @escaping @Sendable () -> Void
    ) {
        if milliseconds == 0 {
            body()
        } else {
            connection.loop.executor.schedule(after: .milliseconds(milliseconds), body)
        }
    }

    private func perform(
        _ script: ScriptedOutcome,
        _ response: HTTP2ServerResponse,
        stream: Int32,
        on connection: HTTP2ServerConnection
    ) {
        later(script.delayMilliseconds, connection) {
            switch script.action {
            case .answer: connection.respond(stream, response)
            case .reset: connection.reset(stream, script.code)
            case .silence: break
            case .close: connection.close()
            case .goaway: Self.goAway(script, response, stream: stream, on: connection)
            }
        }
    }

    private static func goAway(
        _ script: ScriptedOutcome,
        _ response: HTTP2ServerResponse,
        stream: Int32,
        on connection: HTTP2ServerConnection
    ) {
        let data = goAwayData(script.reason)
        if script.isGraceful {
            // The answer comes last: an idle peer would be gone before it had read the reason.
            connection.shutDownGracefully(debugData: data, after: .milliseconds(50))
            connection.loop.executor.schedule(after: .milliseconds(100)) {
                connection.respond(stream, response)
            }
        } else if script.isProcessed {
            connection.respond(stream, response)
            connection.goAway(lastStream: stream, debugData: data)
        } else {
            connection.goAway(lastStream: max(0, stream - 2), debugData: data)
        }
    }

    /// The opaque data of a GOAWAY as Apple fills it.
    static func goAwayData(_ reason: String?) -> [UInt8] {
        guard let reason else { return [] }
        var json = CompactJSON()
        json.object { $0.field("reason", reason) }
        return json.bytes
    }

    /// SETTINGS follow the connection's record: one stream until the first acceptance, and, if
    /// configured, one again after a rejection.
    private func adjustLimit(
        _ connection: HTTP2ServerConnection,
        _ record: ConnectionRecord,
        _ answer: APNsAnswer
    ) {
        if answer.status == 200 {
            guard !record.isRamped || record.isThrottled else { return }
            let settings = state.content.withLock { $0.settings }
            if record.isThrottled || settings.firstStreamLimit != 0 {
                connection.setMaximumConcurrentStreams(settings.maximumConcurrentStreams)
            }
            record.isRamped = true
            record.isThrottled = false
        } else if answer.status != 410, !record.isThrottled {
            guard state.content.withLock({ $0.settings.throttlesAfterRejection }) else { return }
            connection.setMaximumConcurrentStreams(1)
            record.isThrottled = true
        }
    }
}
