import Contracts
import Loop
import ServiceKit
import Synchronization

/// Why a request has no answer.
package enum BusFailure: Error, Hashable, Sendable {
    /// No answer came in time, or none can come any more because the connection was lost. The
    /// receiver may have carried it out.
    case timeout
    /// The receiver refused it.
    case rejected(Reject)
    /// The client has been stopped or the task cancelled.
    case stopped
    /// The answer cannot be read or is of another type.
    case malformedAnswer(String)
}

/// Sends requests to one service, over as many endpoints as it has.
///
/// Each endpoint has one DEALER and a window of unanswered requests. A request goes to the
/// connected peer with an open window and the fewest in flight; where there is none it waits, at
/// most until its deadline. Answers are matched by id; late and repeated ones are counted only.
package final class BusClient: Sendable {
    package let name: String
    private let link: BusClientLink
    private let metrics: BusClientMetrics
    private let random: RandomSource
    /// Whether a peer has said that it reads JSON alone (`unsupported_content`), or a test has.
    private let speaksJSON: Atomic<Bool>

    /// Checks the settings and begins to connect; a peer that is not there yet is waited for.
    ///
    /// `forcesJSON` makes every request JSON, for tests of peers that know nothing else.
    package init(
        runtime: BusRuntime,
        name: String,
        endpoints: BusEndpointSource,
        security: BusSecurity = .trustedDirectory,
        window: Int = 16,
        metrics: Metrics,
        log: Log,
        random: RandomSource = .system,
        forcesJSON: Bool = false
    ) throws(BusConfigurationError) {
        if case .fixed(let list) = endpoints {
            for endpoint in list { _ = try security.clientCurve(endpoint) }
        }
        self.name = name
        self.random = random
        speaksJSON = Atomic(forcesJSON)
        self.metrics = BusClientMetrics(metrics, client: name)
        link = BusClientLink(
            runtime: runtime,
            settings: .init(
                name: name,
                source: endpoints,
                security: security,
                window: max(1, window)
            ),
            metrics: self.metrics,
            log: log.with(["client": .string(name)])
        )
        link.start()
    }

    deinit { link.stop() }

    /// Asks and waits for the one answer.
    ///
    /// `timeout` covers the wait for an open window too. With `resendEvery` the request is sent
    /// again under the same id when that time passes or the connection is lost; without it a lost
    /// connection ends the request. Bodies are encoded and decoded in the caller's context.
    package func ask<Request: BusRequest>(
        _ request: Request,
        timeout: Duration,
        resendEvery: Duration? = nil,
        traceparent: String? = nil
    ) async throws(BusFailure) -> Request.Answer {
        try await inReadableForm(of: Request.self) { (form) throws(BusFailure) in
            let (id, frames) = try encode(request, form, traceparent)
            let outcome = await link.exchange(
                id: id,
                frames: frames,
                timeout: timeout,
                resendEvery: resendEvery
            )
            return try decode(try outcome.get(), as: Request.self)
        }
    }

    /// Asks and hands on every answer until `onAnswer` returns false.
    ///
    /// Nothing is resent: a stream that breaks off ends in `.timeout`, and what has come is kept. A
    /// request that no window took within `sendWithin` is never sent and ends in `.rejected` with
    /// `retry_after`, for requests that age while they wait.
    package func stream<Request: BusRequest>(
        _ request: Request,
        timeout: Duration,
        sendWithin: Duration? = nil,
        traceparent: String? = nil,
        onAnswer: (Request.Answer) async -> Bool
    ) async throws(BusFailure) {
        // From here on, so that encoding counts too.
        let sendBy = sendWithin.map { SystemTime().monotonic + $0 }
        try await inReadableForm(of: Request.self) { (form) throws(BusFailure) in
            let (id, frames) = try encode(request, form, traceparent)
            let channel = BusAnswerChannel()
            await link.open(
                id: id,
                frames: frames,
                timeout: timeout,
                sendBy: sendBy,
                channel: channel
            )
            defer { link.forget(id) }
            while true {
                guard let item = await channel.next() else { throw .stopped }
                let answer = try decode(try item.get(), as: Request.self)
                guard await onAnswer(answer) else { return }
            }
        }
    }

    /// How many peers have completed their handshake.
    package func connectedPeers() async -> Int { await link.connectedPeers() }

    /// Returns once a peer has completed its handshake; false when stopped or cancelled first.
    package func waitUntilConnected() async -> Bool { await link.waitUntilConnected() }

    /// Ends every request with `.stopped` and closes the sockets; idempotent.
    package func stop() { link.stop() }

    /// Sends in the form of choice, and once more as JSON to a peer that says it reads JSON alone:
    /// a stub in any language may. What was refused for its form has not been carried out.
    private func inReadableForm<Request: BusRequest, Value>(
        of type: Request.Type,
        _ send: (BodyContent) async throws(BusFailure) -> Value
    ) async throws(BusFailure) -> Value {
        let form = speaksJSON.load(ordering: .relaxed) ? .json : BusCodec.preferredContent(of: type)
        do throws(BusFailure) {
            return try await send(form)
        } catch {
            guard
                form == .messagePack,
                case .rejected(let reject) = error, reject.code == .unsupportedContent
            else { throw error }
            speaksJSON.store(true, ordering: .relaxed)
            return try await send(.json)
        }
    }

    private func encode<Request: BusRequest>(
        _ request: Request,
        _ form: BodyContent,
        _ traceparent: String?
    ) throws(BusFailure) -> (id: String, frames: [[UInt8]]) {
        let id = random.messageID()
        do throws(Reject) {
            let (content, body) = try BusCodec.encode(request, form)
            let header = BusHeader(
                type: Request.type,
                id: id,
                content: content,
                traceparent: traceparent
            )
            return (id, [BusHeaderCodec.write(header), body])
        } catch {
            throw .rejected(error)
        }
    }

    private func decode<Request: BusRequest>(
        _ reply: BusReply,
        as type: Request.Type
    ) throws(BusFailure) -> Request.Answer {
        let refusal: Reject
        guard reply.header.type == Request.Answer.type || reply.header.type == Reject.type else {
            metrics.malformed.add()
            throw .malformedAnswer("an answer of type \(reply.header.type)")
        }
        do throws(Reject) {
            if reply.header.type == Request.Answer.type {
                return try BusCodec.decode(Request.Answer.self, reply.header.content, reply.body)
            }
            refusal = try BusCodec.decode(Reject.self, reply.header.content, reply.body)
        } catch {
            metrics.malformed.add()
            throw .malformedAnswer("\(reply.header.type): \(error.pointer ?? "") \(error.message)")
        }
        throw .rejected(refusal)
    }
}

/// One answer as it came.
struct BusReply: Sendable {
    let header: BusHeader
    let body: [UInt8]
}

/// What the loop hands to the task that follows a stream; bounded.
typealias BusAnswerChannel = BoundedChannel<Result<BusReply, BusFailure>>

extension BoundedChannel where Element == Result<BusReply, BusFailure> {
    /// Answers of one request that may wait to be taken.
    static var places: Int { 1024 }

    convenience init() { self.init(capacity: Self.places) }
}
