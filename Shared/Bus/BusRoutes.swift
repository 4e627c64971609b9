import Contracts

/// What a handler knows about a request besides its body.
package struct BusContext: Sendable {
    package let peer: BusPeer
    package let traceparent: String?
    /// The request's id; a resend carries the same one. Empty for a bare event.
    package let id: String
}

/// An answer as it goes into frames.
struct BusAnswer: Sendable {
    let type: String
    let content: BodyContent
    let body: [UInt8]

    /// Encodes `message` in the form of the request it answers.
    static func of<Message: BusMessage>(_ message: Message, in content: BodyContent) -> BusAnswer {
        do throws(Reject) {
            let encoded = try BusCodec.encode(message, content)
            return BusAnswer(type: Message.type, content: encoded.content, body: encoded.body)
        } catch {
            return .rejection(error)
        }
    }

    /// A rejection; always JSON, so that it can be read whatever went wrong.
    static func rejection(_ reject: Reject) -> BusAnswer {
        let encoded = try? BusCodec.encode(reject, .json)
        return BusAnswer(type: Reject.type, content: .json, body: encoded?.body ?? [])
    }
}

/// Which handler answers which message type.
package struct BusRoutes: Sendable {
    /// Gives one answer of a stream to libzmq; false when the peer is gone and more is in vain.
    package typealias Emit<Answer> = @Sendable (Answer) async -> Bool

    struct Call: Sendable {
        let content: BodyContent
        let body: [UInt8]
        let context: BusContext
        let emit: @Sendable (BusAnswer) async -> Bool
    }

    enum Result: Sendable {
        case answer(BusAnswer)
        case rejected(Reject)
        /// A stream that has said everything.
        case done
    }

    typealias Handler = @Sendable (Call) async -> Result

    private var handlers: [String: Handler] = [:]
    /// The type whose body a single frame without header is taken for.
    private(set) var bareType: String?

    package init() {}

    /// The message types that are answered.
    package var types: [String] { handlers.keys.sorted() }

    func handler(for type: String) -> Handler? { handlers[type] }

    /// Answers requests of a type, each in its own task, off the loop's thread.
    ///
    /// The answer goes out when `body` returns; throwing a ``Reject`` sends that instead. A repeat
    /// of a request comes again: handlers are idempotent by natural key.
    package mutating func answer<Request: BusRequest>(
        _ type: Request.Type,
        _ body: @escaping @Sendable (Request, BusContext) async throws(Reject) -> Request.Answer
    ) {
        handlers[type.type] = { call in
            do throws(Reject) {
                let request = try BusCodec.decode(type, call.content, call.body)
                return .answer(.of(try await body(request, call.context), in: call.content))
            } catch {
                return .rejected(error)
            }
        }
    }

    /// Answers requests of a type with any number of messages, each as soon as it is known.
    ///
    /// Which one is the last is the contract's matter; `emit` waits while the peer is full.
    package mutating func stream<Request: BusRequest>(
        _ type: Request.Type,
        _ body:
            @escaping @Sendable (Request, BusContext, Emit<Request.Answer>) async throws(Reject) ->
            Void
    ) {
        handlers[type.type] = { call in
            do throws(Reject) {
                let request = try BusCodec.decode(type, call.content, call.body)
                try await body(request, call.context) { answer in
                    await call.emit(.of(answer, in: call.content))
                }
                return .done
            } catch {
                return .rejected(error)
            }
        }
    }

    /// Takes a single frame without header for the JSON body of `type`, which must have a handler;
    /// the answer is a single frame with the JSON body of the answer or of `reject.v1`.
    package mutating func acceptBare<Request: BusRequest>(_ type: Request.Type) {
        bareType = type.type
    }
}
