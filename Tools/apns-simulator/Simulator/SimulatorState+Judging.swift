import Contracts
import HTTP2
import Loop
import ServiceKit

extension SimulatorState {
    /// Judges a complete request: provider token, validity, script, device. The body of an
    /// accepted one is kept in exchange for one that is kept no longer.
    func judge(
        _ request: inout HTTP2ServerRequest,
        environment: APNsEnvironment,
        connection: ConnectionRecord
    ) -> Judgement {
        let bodyBytes = request.bodyBytes
        var body: [UInt8] = []
        swap(&body, &request.body)
        var judgement: Judgement?
        request.headers.withFields { fields in
            let fields = RequestFields(fields)
            judgement = content.withLock { content in
                content.judge(
                    fields,
                    body: &body,
                    bodyBytes: bodyBytes,
                    environment: environment,
                    connection: connection
                )
            }
        }
        swap(&body, &request.body)
        guard let judgement else { preconditionFailure("the fields are always lent") }
        return judgement
    }

    /// An answer before the body, if a script asks for one.
    func judgeEarly(
        _ request: borrowing HTTP2ServerRequest,
        environment: APNsEnvironment
    ) -> (ScriptedOutcome, HTTP2ServerResponse)? {
        // Every request passes here, and nearly always nothing is scripted.
        let isScripted = content.withLock { !$0.scripts.isEmpty || !$0.commonScript.isEmpty }
        guard isScripted else { return nil }
        let path = request.path
        return content.withLock { content in
            let token = path.split(separator: "/").last.map { $0.lowercased() } ?? ""
            let key = DeviceRegistry.Key(environment: environment, token: token)
            guard content.isNextEarly(key), let script = content.nextScript(key) else { return nil }
            let answer = script.answer(now: content.now)
            content.statistics.requests += 1
            content.statistics.count(script, answer)
            let response = content.response(answer, id: content.makeID(), environment, script)
            return (script, response)
        }
    }
}

extension SimulatorState.Content {
    fileprivate mutating func judge(
        _ fields: RequestFields,
        body: inout [UInt8],
        bodyBytes: Int,
        environment: APNsEnvironment,
        connection: ConnectionRecord
    ) -> Judgement {
        statistics.requests += 1
        let now = clock.now
        connection.lastUse = now
        let givenID = fields.id.flatMap { MessageID(canonical: $0) }
        let id = givenID ?? makeID()
        var delay = delayMilliseconds(settings.delayMilliseconds, settings.maximumDelayMilliseconds)
        var answer = APNsAnswer.accepted
        var script: ScriptedOutcome?
        do throws(APNsAnswer) {
            let parsed = try validate(
                fields,
                id: givenID,
                body: body,
                bodyBytes: bodyBytes,
                environment: environment,
                connection: connection,
                at: now
            )
            let key = DeviceRegistry.Key(environment: environment, token: parsed.token)
            script = nextScript(key)
            if let script {
                delay += delayMilliseconds(
                    script.delayMilliseconds,
                    script.maximumDelayMilliseconds
                )
                if !script.isOrdinary { throw script.answer(now: now) }
            }
            try registry.accept(
                ReceivedNotification(
                    device: key,
                    at: now,
                    id: id,
                    topic: parsed.topic,
                    pushType: parsed.pushType,
                    priority: parsed.priority,
                    expiration: parsed.expiration,
                    collapseID: parsed.collapseID
                ),
                payload: &body
            )
        } catch {
            answer = error
        }
        guard var script else {
            statistics.count(answer)
            if answer.status == 200, delay == 0 {
                let unique = environment == .sandbox ? makeID() : nil
                return Judgement(verdict: .accepted(id, unique: unique), answer: answer)
            }
            let response = response(answer, id: id, environment, nil)
            return Judgement(
                verdict: .answer(response, delayMilliseconds: delay),
                answer: answer
            )
        }
        script.delayMilliseconds = delay
        statistics.count(script, answer)
        let response = response(answer, id: id, environment, script)
        return Judgement(verdict: .scripted(script, response), answer: answer)
    }

    /// What does not depend on the device: provider token, header fields, topic, payload.
    private mutating func validate(
        _ fields: RequestFields,
        id: MessageID?,
        body: [UInt8],
        bodyBytes: Int,
        environment: APNsEnvironment,
        connection: ConnectionRecord,
        at now: UnixMilliseconds
    ) throws(APNsAnswer) -> APNsRequest {
        try connection.rules.check(
            fields.authorization,
            now: now.second.seconds,
            environment: environment,
            verifier: &verifier
        )
        connection.hasShownToken = true
        let request = try APNsRequest(fields, id: id)
        guard connection.rules.allows(topic: request.topic) else {
            throw APNsAnswer("TopicDisallowed")
        }
        try request.checkPayload(body, totalBytes: bodyBytes, isStrict: settings.parsesPayloads)
        return request
    }

    private func delayMilliseconds(_ least: Int, _ most: Int) -> Int {
        most > least ? least + Int(random.uniform(below: UInt64(most - least + 1))) : least
    }

    fileprivate mutating func response(
        _ answer: APNsAnswer,
        id: MessageID,
        _ environment: APNsEnvironment,
        _ script: ScriptedOutcome?
    ) -> HTTP2ServerResponse {
        var response = HTTP2ServerResponse(status: answer.status, body: answer.body)
        if script?.omitsID != true {
            response.headers.append(HTTP2Field("apns-id", id.text, indexing: .none))
        }
        if environment == .sandbox {
            response.headers.append(HTTP2Field("apns-unique-id", makeID().text, indexing: .none))
        }
        if let body = script?.body { response.body = Array(body.utf8) }
        if !response.body.isEmpty {
            response.headers.append(HTTP2Field("content-type", "application/json"))
        }
        if let retryAfter = script?.retryAfter {
            response.headers.append(HTTP2Field("retry-after", retryAfter))
        }
        response.frameBytes = script?.frameBytes
        response.leavesOpen = script?.leavesOpen ?? false
        return response
    }

    // MARK: Scripts

    fileprivate func isNextEarly(_ key: DeviceRegistry.Key) -> Bool {
        scripts[key]?.isNextEarly ?? commonScript.isNextEarly
    }

    fileprivate mutating func nextScript(_ key: DeviceRegistry.Key) -> ScriptedOutcome? {
        if !scripts.isEmpty, scripts[key] != nil {
            let outcome = scripts[key]?.next(random)
            if scripts[key]?.isEmpty == true { scripts[key] = nil }
            return outcome
        }
        return commonScript.isEmpty ? nil : commonScript.next(random)
    }
}

extension ScriptedOutcome {
    /// The request is treated as usual and only delayed or shaped.
    var isOrdinary: Bool {
        switch action {
        case .answer: status == nil && reason == nil
        case .goaway: isGraceful || isProcessed
        case .reset, .silence, .close: false
        }
    }

    func answer(now: UnixMilliseconds) -> APNsAnswer {
        guard action == .answer else { return APNsAnswer.accepted }
        let status = status ?? reason.flatMap { APNsAnswer.statusOfReason[$0] } ?? 200
        let since = timestamp.map(UnixMilliseconds.init) ?? now
        return APNsAnswer(
            status: status,
            reason: reason,
            timestamp: status == 410 && timestamp != -1 ? since : nil
        )
    }
}

extension SimulatorStatistics {
    mutating func count(_ script: ScriptedOutcome, _ answer: APNsAnswer) {
        switch script.action {
        case .answer: count(answer)
        case .reset: resets += 1
        case .goaway:
            goAways += 1
            if script.isOrdinary { count(answer) }
        case .silence, .close: silences += 1
        }
    }
}
