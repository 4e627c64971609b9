import Loop

/// Looks host names up; nothing is cached.
///
/// `getaddrinfo` blocks and cannot be called off, so every name has a thread of its own: a name
/// whose servers are silent holds up no other one. Who asks for a name that is being looked up gets
/// that answer. Names come from the configuration, so that the threads are few.
package final class NameResolver: Sendable {
    package typealias Answer = Result<[SocketAddress], HTTP2Closure>
    package typealias LookUp = @Sendable (_ host: String, _ port: UInt16) -> Answer
    typealias Reply = @Sendable (Answer) -> Void

    private struct Question: Hashable, Sendable {
        let host: String
        let port: UInt16
    }

    private struct State: Sendable {
        var threads: [String: SerialThread] = [:]
        var replies: [Question: [Reply]] = [:]
        var isStopped = false
    }

    private let state = Locked(State())
    private let lookUp: LookUp

    /// Asks the system, or whom it is told to ask.
    package init(lookUp: @escaping LookUp = NameResolver.askSystem) { self.lookUp = lookUp }

    package static func askSystem(host: String, port: UInt16) -> Answer {
        Result { () throws(HTTP2Closure) in try SocketAddress.resolve(host: host, port: port) }
    }

    /// Calls back on a thread of the resolver's, or at once if there is none to be had.
    func resolve(host: String, port: UInt16, _ reply: @escaping Reply) {
        let question = Question(host: host, port: port)
        let refusal = state.withLock { state -> HTTP2Closure? in
            if state.isStopped { return .local }
            if state.replies[question] != nil {
                state.replies[question]?.append(reply)
                return nil
            }
            if state.threads[host] == nil {
                do throws(SystemCallError) {
                    state.threads[host] = try SerialThread(name: "resolver")
                } catch {
                    return .resolution("\(host): \(error)")
                }
            }
            state.replies[question] = [reply]
            state.threads[host]?.execute { self.answer(question) }
            return nil
        }
        if let refusal { reply(.failure(refusal)) }
    }

    private func answer(_ question: Question) {
        let answer = lookUp(question.host, question.port)
        let replies = state.withLock { $0.replies.removeValue(forKey: question) } ?? []
        for reply in replies { reply(answer) }
    }

    /// Waits for the look-ups under way and ends the threads.
    package func stop() {
        let threads = state.withLock { state in
            state.isStopped = true
            defer { state.threads = [:] }
            return state.threads
        }
        for thread in threads.values { thread.stop() }
    }
}
