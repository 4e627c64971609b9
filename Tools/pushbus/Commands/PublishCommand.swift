import Commands
import Contracts
import FoundationEssentials
import ServiceKit
import Topology

/// `pushbus publish`
enum PublishCommand {
    /// Bytes of the largest file: one message of the bus.
    static let fileLimit = BusLimits.messageBytes

    static let command = Command(
        "publish",
        "Publishes events.",
        positionals: [
            .init(
                "FILE",
                "a CloudEvents 1.0 event or a batch of them, - for input",
                isOptional: true
            )
        ],
        options: [
            .flag("--trigger", "an alert that begins, made from the options below"),
            .flag("--resolve", "an alert that ends; --started-at names its beginning"),
            .value("--rule", "ID", "the rule's id"),
            .value("--rule-name", "NAME", "the rule's name (default: its id)"),
            .value("--server", "ID", "the server's id"),
            .value("--server-name", "NAME", "the server's name (default: its id)"),
            .value("--source-address", "TEXT", "the alert's dimension, where the rule has one"),
            .value("--started-at", "TIME", "when it began, RFC 3339 (default for a trigger: now)"),
            .value("--source", "URI", "who says so (default: pushbus/cli)"),
            .value("--id", "ID", "the event's id at its source (default: a new UUID)"),
            .flag("--json", "print the answer as JSON"),
        ] + BusConnection.options,
        notes: """
            An event that is accepted is on disk. The same source, id and content again is a
            duplicate, which is no failure; other content under them is a conflict.

            Examples:
              pushbus publish --trigger --rule cpu --server web-1 --started-at 2026-01-31T12:00:00Z
              pushbus publish --resolve --rule cpu --server web-1 --started-at 2026-01-31T12:00:00Z
              pushbus publish events.json

            \(ExitCode.help)
            """
    ) { arguments in
        let connection = try BusConnection(arguments)
        let request = try request(arguments, now: SystemTime().wall, random: .system)
        let answer = try await connection.session { try await publish(request, in: $0) }
        if arguments.has("--json") {
            Terminal.standard.line(try JSONText.line(answer))
        } else {
            Terminal.standard.out(text(of: answer))
        }
        return exitCode(of: answer)
    }

    /// What the command line asks to publish.
    static func request(
        _ arguments: Arguments,
        now: UnixMilliseconds,
        random: RandomSource
    ) throws -> EventPublish {
        let made = [arguments.has("--trigger"), arguments.has("--resolve")]
        switch (arguments.word("FILE"), made.filter(\.self).count) {
        case (let file?, 0):
            let bytes = try InputFile.read(file, limit: fileLimit)
            guard let body = try? JSONDecoder().decode(EventPublish.self, from: Data(bytes)) else {
                throw CommandFailure("\(file) is not JSON", exitCode: ExitCode.badInput)
            }
            return body
        case (nil, 1):
            return try self.request(alert(arguments, now: now, random: random))
        default:
            throw UsageError("say what to publish: a FILE, --trigger or --resolve")
        }
    }

    /// One event that was made here.
    static func request(_ event: CloudEvent<AlertEventData>) throws -> EventPublish {
        try JSONDecoder().decode(EventPublish.self, from: JSONEncoder().encode(event))
    }

    private static func alert(
        _ arguments: Arguments,
        now: UnixMilliseconds,
        random: RandomSource
    ) throws -> CloudEvent<AlertEventData> {
        let isTrigger = arguments.has("--trigger")
        let rule = try arguments.required("--rule")
        let server = try arguments.required("--server")
        let startedAt =
            isTrigger
            ? arguments.value("--started-at") ?? now.rfc3339
            : try arguments.required("--started-at")
        let type: EventType = isTrigger ? .alertTriggered : .alertResolved
        let id = arguments.value("--id")
        return CloudEvent(
            id: id ?? uuid(random),
            source: arguments.value("--source") ?? "pushbus/cli",
            type: type.rawValue,
            // An id that was given may be published again, and then has to have the same content.
            time: id == nil ? now.rfc3339 : nil,
            data: AlertEventData(
                ruleID: rule,
                ruleName: arguments.value("--rule-name") ?? rule,
                serverID: server,
                serverName: arguments.value("--server-name") ?? server,
                sourceAddress: arguments.value("--source-address") ?? "",
                startedAt: startedAt
            )
        )
    }

    private static func uuid(_ random: RandomSource) -> String {
        EventID(hash: random.bytes(16))?.description ?? ""
    }

    /// Publishes, and publishes again what is to be retried, until the connection's timeout.
    static func publish(
        _ request: EventPublish,
        in session: BusSession
    ) async throws -> EventPublishAnswer {
        let time = SystemTime()
        let deadline = time.monotonic.advanced(by: session.connection.timeout)
        var results: [EventPublishAnswer.Result?] = request.events.map { _ in nil }
        while true {
            let open = results.indices.filter {
                results[$0].map { $0.status == .retryAfter } ?? true
            }
            let part = EventPublish(
                events: open.map { request.events[$0] },
                isBatch: request.isBatch
            )
            let answer = try await session.ask(
                part,
                of: .eventIngest,
                timeout: max(time.monotonic.duration(to: deadline), .milliseconds(1)),
                resendEvery: .seconds(3)
            )
            for (index, result) in zip(open, answer.results) { results[index] = result }
            let waits = answer.results.filter { $0.status == .retryAfter }
                .map { Duration.milliseconds($0.retryAfterMilliseconds ?? 1000) }
            guard let wait = waits.max(), time.monotonic.advanced(by: wait) < deadline else {
                return EventPublishAnswer(results: results.compactMap(\.self))
            }
            try await time.sleep(for: wait)
        }
    }

    /// A line for each event.
    static func text(of answer: EventPublishAnswer) -> String {
        answer.results.map { result in
            var line = result.status.rawValue
            if let eventID = result.eventID { line += " \(eventID)" }
            if let pointer = result.pointer { line += " at \(pointer.isEmpty ? "/" : pointer)" }
            if let reason = result.reason { line += ": \(reason)" }
            return line + "\n"
        }.joined()
    }

    /// 0 when every event is on disk, now or before.
    static func exitCode(of answer: EventPublishAnswer) -> Int32 {
        let statuses = Set(answer.results.map(\.status))
        if statuses.isSubset(of: [.accepted, .duplicate]) { return ExitCode.success }
        if statuses.contains(.invalid) { return ExitCode.badInput }
        return statuses.contains(.conflict) ? ExitCode.failure : ExitCode.unavailable
    }
}
