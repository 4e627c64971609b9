import Contracts
import HTTP2
import Loop

/// One of Apple's two hosts: answers the requests of its connections, on the loop thread.
final class SimulatedHost: HTTP2ServerHandler {
    let environment: APNsEnvironment
    private let state: SimulatorState

    init(_ environment: APNsEnvironment, state: SimulatorState) {
        self.environment = environment
        self.state = state
    }

    func admitsConnection() -> Bool { state.admitsConnection() }

    func connectionOpened(_ connection: HTTP2ServerConnection) {
        let now = state.content.withLock { content in
            content.statistics.connections += 1
            return content.now
        }
        connection.attachment = ConnectionRecord(openedAt: now)
        watchIdleness(of: connection)
    }

    func connectionClosed(_ connection: HTTP2ServerConnection) {
        record(of: connection)?.idleTimer?.cancel()
        connection.attachment = nil
    }

    func pingReceived(on connection: HTTP2ServerConnection) {
        let limit = state.content.withLock { $0.settings.maximumPings }
        guard limit > 0, connection.pingsReceived > limit else { return }
        connection.goAway(
            code: .enhanceYourCalm,
            debugData: Array("too_many_pings".utf8),
            thenClose: true
        )
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
        _ request: inout HTTP2ServerRequest,
        on connection: HTTP2ServerConnection
    ) {
        guard let record = record(of: connection) else { return }
        record.requests += 1
        let stream = request.stream
        if !record.answeredEarly.isEmpty, record.answeredEarly.remove(stream) != nil { return }
        let judgement = state.judge(&request, environment: environment, connection: record)
        adjustLimit(connection, record, judgement.answer)
        switch judgement.verdict {
        case .accepted(let id, let unique): accept(stream, id, unique, on: connection)
        case .answer(let response, delayMilliseconds: let delay):
            later(delay, connection) { connection.respond(stream, response) }
        case .scripted(let script, let response):
            perform(script, response, stream: stream, on: connection)
        }
    }

    private func accept(
        _ stream: Int32,
        _ id: MessageID,
        _ unique: MessageID?,
        on connection: HTTP2ServerConnection
    ) {
        connection.respond(stream, status: 200) { fields in
            id.withText { _ = fields.add("apns-id", $0, indexing: .none) }
            unique?.withText { _ = fields.add("apns-unique-id", $0, indexing: .none) }
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

    // MARK: Idleness

    /// Ends a connection that nobody has used for as long as the settings say, by the simulator's
    /// clock, or looks again when that could be so.
    func watchIdleness(of connection: HTTP2ServerConnection) {
        guard let record = record(of: connection) else { return }
        record.idleTimer?.cancel()
        record.idleTimer = nil
        let (limit, now) = state.content.withLock {
            (Int64($0.settings.idleCloseMilliseconds), $0.now)
        }
        guard limit > 0, connection.isOpen else { return }
        if connection.activeStreams > 0 { record.lastUse = now }
        let left = limit - (now.milliseconds - record.lastUse.milliseconds)
        guard left > 0 else {
            connection.goAway(debugData: Self.goAwayData("IdleTimeout"), thenClose: true)
            return
        }
        record.idleTimer = connection.loop.executor.schedule(
            after: .milliseconds(max(10, left))
        ) { [weak connection] in
            if let connection { self.watchIdleness(of: connection) }
        }
    }

    // MARK: Stream limits

    /// SETTINGS follow the connection's record: one stream until the first valid provider token,
    /// and, if configured, one again after a rejection.
    private func adjustLimit(
        _ connection: HTTP2ServerConnection,
        _ record: ConnectionRecord,
        _ answer: APNsAnswer
    ) {
        if !record.isRamped {
            guard record.hasShownToken, answer.status != 403 else { return }
            let settings = state.content.withLock { $0.settings }
            if settings.firstStreamLimit != 0 {
                connection.setMaximumConcurrentStreams(settings.maximumConcurrentStreams)
            }
            record.isRamped = true
        }
        if answer.status == 200 {
            guard record.isThrottled else { return }
            let limit = state.content.withLock { $0.settings.maximumConcurrentStreams }
            connection.setMaximumConcurrentStreams(limit)
            record.isThrottled = false
        } else if answer.status != 410, !record.isThrottled {
            guard state.content.withLock({ $0.settings.throttlesAfterRejection }) else { return }
            connection.setMaximumConcurrentStreams(1)
            record.isThrottled = true
        }
    }
}
