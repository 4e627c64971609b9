import Loop

/// Answers libzmq's question, at each CURVE handshake, whether a client may connect (RFC 27).
///
/// There is one in a process, bound before any server socket, and it lives on the loop's thread.
/// It answers 200 or 400 only: 300 makes some clients hang in send. The user id it gives a
/// connection is the client's public key as Z85, so that each message can be judged anew.
package final class ZapHandler {
    /// Decides for one domain whether a key may connect.
    package typealias Judge = (CurvePublicKey) -> Bool

    private let socket: ZeroMQSocket
    private let backend: ZeroMQPollBackend
    private var registration: ZeroMQPollBackend.Registration?
    private var judges: [String: Judge] = [:]
    /// Called with the domain and whether the client was let in, after each answer.
    package var answered: ((_ domain: String, _ accepted: Bool) -> Void)?
    /// Called when the handler has ended unasked, after which no new client is let in.
    package var failed: ((ZeroMQError) -> Void)?

    /// Binds the handler; throws when the process has one already.
    package init(
        context: ZeroMQContext,
        backend: ZeroMQPollBackend,
        loop: LoopExecutor
    ) throws(ZeroMQError) {
        socket = try ZeroMQSocket(
            .router,
            context: context,
            options: ZeroMQSocketOptions(),
            on: loop
        )
        try socket.bind("inproc://zeromq.zap.01")
        self.backend = backend
        registration = backend.register(socket) { [weak self] in self?.serve() }
    }

    /// Sets who may connect in `domain`; a domain without a judge lets nobody in.
    package func judge(_ domain: String, _ judge: Judge?) { judges[domain] = judge }

    /// Ends the handler; from here on handshakes fail.
    package func close() {
        if let registration { backend.remove(registration) }
        registration = nil
        socket.close()
    }

    private func serve() {
        do {
            while case .message(let message) = try socket.receive(limits: Self.limits) {
                guard let reply = reply(to: message.frames) else { continue }
                _ = try socket.send(message.envelope, reply)
            }
        } catch {
            close()
            failed?(error)
        }
    }

    private static let limits = ZeroMQLimits(frames: 16, bytes: 65_536)

    /// Frames of a request: version, request id, domain, address, identity, mechanism, key.
    private func reply(to frames: [[UInt8]]) -> [[UInt8]]? {
        guard frames.count >= 6, frames[0] == Array("1.0".utf8) else { return nil }
        let domain = String(decoding: frames[2], as: UTF8.self)
        var userID: [UInt8] = []
        if frames.count == 7, frames[5] == Array("CURVE".utf8),
            let key = CurvePublicKey(bytes: frames[6]), judges[domain]?(key) == true
        {
            userID = Array(key.z85.utf8)
        }
        let accepted = !userID.isEmpty
        answered?(domain, accepted)
        return [
            frames[0],
            frames[1],
            Array((accepted ? "200" : "400").utf8),
            Array((accepted ? "OK" : "not on the allow-list").utf8),
            userID,
            [],
        ]
    }
}
