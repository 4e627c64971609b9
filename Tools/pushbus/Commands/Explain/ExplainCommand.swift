import Commands
import Contracts
import ServiceKit
import Topology

/// `pushbus explain`
enum ExplainCommand {
    static let command = Command(
        "explain",
        "Says what happened to an event at each stage, and why.",
        positionals: [
            .init("EVENT", "its event_id; with --source the id under which it was published"),
            .init("INSTALLATION", "a phone, to say why it was or was not told", isOptional: true),
        ],
        options: [
            .value("--source", "SOURCE", "the CloudEvents source that EVENT was published with"),
            .flag("--json", "print one JSON object with what the services answered"),
        ] + BusConnection.options.filter { $0.name != "--endpoint" },
        notes: """
            Asks EventIngest, Registration and Delivery over the bus. Content is erased when an event
            ends; what is said then comes from what remains: verdicts and counts for 7 days, receipts
            for a day at least. About a phone, Registration says how it stands now.

            \(ExitCode.help)
            """
    ) { arguments in
        let query = try query(arguments)
        let installation = arguments.word("INSTALLATION").map { InstallationID($0) }
        let explanation = try await BusConnection(arguments).session { session in
            try await gather(query, installation, in: session)
        }
        guard explanation.isAnythingKnown else {
            throw CommandFailure(
                "nobody knows this event: it was never published under that name, or so long ago "
                    + "that it is forgotten"
            )
        }
        if arguments.has("--json") {
            Terminal.standard.line(try JSONText.line(explanation))
        } else {
            Terminal.standard.out(explanation.text)
        }
        return ExitCode.success
    }

    static func query(_ arguments: Arguments) throws(UsageError) -> EventExplain {
        let event = try arguments.requiredWord("EVENT")
        if let source = arguments.value("--source") {
            return EventExplain(source: source, id: event)
        }
        guard let id = EventID(event) else {
            throw UsageError(
                "EVENT is a lowercase UUID, as 'pushbus publish' prints it; "
                    + "for an id of the producer's give its --source too"
            )
        }
        return EventExplain(eventID: id)
    }

    /// Asks everybody; only EventIngest has to be there.
    private static func gather(
        _ query: EventExplain,
        _ installation: InstallationID?,
        in session: BusSession
    ) async throws -> Explanation {
        var explanation = Explanation(
            event: try await session.ask(query, of: .eventIngest),
            installationID: installation
        )
        guard let id = explanation.event.eventID else { return explanation }
        if explanation.event.event?.state == .admitted {
            explanation.note(try await session.ask(ServiceStatus(), of: .eventIngest))
        }
        do {
            let receipts = ReceiptQuery(eventID: id, installationID: installation)
            try await ReceiptsCommand.forEach(receipts, in: session) { explanation.count($0) }
            if explanation.isAnyWaiting {
                explanation.note(try await session.ask(ServiceStatus(), of: .delivery))
            }
        } catch let failure as CommandFailure {
            explanation.silent["delivery"] = failure.description
        }
        guard let installation, let event = explanation.event.event else { return explanation }
        do {
            let question = InstallationExplain(
                installationID: installation,
                category: event.category,
                watermark: explanation.event.course?.watermark ?? .max,
                audience: explanation.event.course?.audience ?? .everyone
            )
            explanation.standing = try await session.ask(question, of: .registration)
        } catch let failure as CommandFailure {
            explanation.silent["registration"] = failure.description
        }
        return explanation
    }
}
