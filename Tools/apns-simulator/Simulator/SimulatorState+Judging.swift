import Contracts
import HTTP2
import Loop

extension SimulatorState {
    /// Judges a complete request: validity, provider token, script, device.
    func judge(
        _ request: borrowing HTTP2ServerRequest,
        environment: APNsEnvironment,
        connection: ConnectionRecord
    ) -> (verdict: Verdict, answer: APNsAnswer) {
        let headers = request.headers
        let body = request.body
        let bodyBytes = request.bodyBytes
        let fallbackID = headers["apns-id"].flatMap { APNsRequest.isCanonicalUUID($0) ? $0 : nil }
        let id = fallbackID ?? makeID()
        return content.withLock { content in
            content.statistics.requests += 1
            let now = now(content)
            var delay = content.settings.delayMilliseconds
            var answer = APNsAnswer.accepted
            var script: ScriptedOutcome?
            do throws(APNsAnswer) {
                let parsed = try validate(
                    headers,
                    bodyBytes: bodyBytes,
                    body: body,
                    environment: environment,
                    connection: connection,
                    nowSeconds: now.second.seconds,
                    &content
                )
                let key = DeviceRegistry.Key(environment: environment, token: parsed.token)
                script = content.nextScript(key)
                delay += script?.delayMilliseconds ?? 0
                if let script, !script.isOrdinary { throw script.answer(now: now) }
                try content.registry.check(key, topic: parsed.topic)
                content.registry.deliver(
                    ReceivedNotification(
                        number: 0,
                        token: parsed.token,
                        environment: environment,
                        at: now,
                        id: id,
                        topic: parsed.topic,
                        pushType: parsed.pushType,
                        priority: parsed.priority,
                        expiration: parsed.expiration,
                        collapseID: parsed.collapseID,
                        payload: body,
                        isDelivered: false
                    )
                )
            } catch {
                answer = error
            }
            let response = response(
                answer,
                id: id,
                environment: environment,
                script: script
            )
            guard var script else {
                content.statistics.count(answer)
                return (.answer(response, delayMilliseconds: delay), answer)
            }
            script.delayMilliseconds = delay
            content.statistics.count(script, answer)
            return (.scripted(script, response), answer)
        }
    }

    /// An answer before the body, if a script asks for one.
    func judgeEarly(
        _ request: borrowing HTTP2ServerRequest,
        environment: APNsEnvironment
    ) -> (ScriptedOutcome, HTTP2ServerResponse)? {
        let path = request.path
        let id = makeID()
        return content.withLock { content in
            guard content.hasScripts else { return nil }
            let token = path.split(separator: "/").last.map { $0.lowercased() } ?? ""
            let key = DeviceRegistry.Key(environment: environment, token: token)
            guard content.isNextEarly(key), let script = content.nextScript(key) else { return nil }
            let answer = script.answer(now: now(content))
            content.statistics.requests += 1
            content.statistics.count(script, answer)
            let response = response(answer, id: id, environment: environment, script: script)
            return (script, response)
        }
    }

    private func validate(
        _ headers: HTTP2HeaderList,
        bodyBytes: Int,
        body: [UInt8],
        environment: APNsEnvironment,
        connection: ConnectionRecord,
        nowSeconds: Int64,
        _ content: inout Content
    ) throws(APNsAnswer) -> APNsRequest {
        content.verifier.isLenient = content.settings.takesLenientTokens
        let token = try connection.rules.check(
            headers,
            now: nowSeconds,
            environment: environment,
            verifier: &content.verifier
        )
        let request = try APNsRequest(headers)
        let bundleIDs = content.verifier.keys[token.keyID]?.bundleIDs ?? []
        guard
            bundleIDs.contains(where: { request.topic == $0 || request.topic.hasPrefix($0 + ".") })
        else { throw APNsAnswer("TopicDisallowed") }
        try request.checkPayload(
            body,
            totalBytes: bodyBytes,
            isStrict: content.settings.parsesPayloads
        )
        return request
    }

    private func response(
        _ answer: APNsAnswer,
        id: String,
        environment: APNsEnvironment,
        script: ScriptedOutcome?
    ) -> HTTP2ServerResponse {
        var response = HTTP2ServerResponse(status: answer.status, body: answer.body)
        if script?.omitsID != true {
            response.headers.append(HTTP2Field("apns-id", id, indexing: .none))
        }
        if environment == .sandbox {
            response.headers.append(HTTP2Field("apns-unique-id", makeID(), indexing: .none))
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

extension SimulatorState.Content {
    var hasScripts: Bool { !scripts.isEmpty || !commonScript.isEmpty }

    func isNextEarly(_ key: DeviceRegistry.Key) -> Bool {
        scripts[key]?.isNextEarly ?? commonScript.isNextEarly
    }

    mutating func nextScript(_ key: DeviceRegistry.Key) -> ScriptedOutcome? {
        guard hasScripts else { return nil }
        if let outcome = scripts[key]?.next() {
            if scripts[key]?.isEmpty == true { scripts[key] = nil }
            return outcome
        }
        return commonScript.next()
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
