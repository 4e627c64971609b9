import Contracts
import Loop
import ServiceKit
import ZeroMQ

/// Turns one received message into the frames of its answer; runs off the loop's thread.
struct BusDispatcher: Sendable {
    let routes: BusRoutes
    /// Nil on ipc, where everybody who gets in is trusted.
    let authority: BusAuthority?
    let metrics: BusServerMetrics
    let log: Log
    let random: RandomSource

    /// The last frames to send for `message`, nil when there is nothing (more) to say.
    func respond(to message: ZeroMQMessage, _ link: BusServerLink) async -> [[UInt8]]? {
        guard let first = message.frames.first else {
            return frames(rejecting: Reject(.malformed, "the message is empty"), re: nil)
        }
        let header: BusHeader
        do throws(BusHeaderFault) {
            header = try BusHeaderCodec.read(first)
        } catch {
            return await respond(toUnheaded: message, error)
        }
        guard message.frames.count >= 2 else {
            let reject = Reject(.malformed, "the header comes without a body; send two frames")
            return frames(rejecting: reject, re: header.id)
        }
        let peer: BusPeer
        let handler: BusRoutes.Handler
        do throws(Reject) {
            peer = try self.peer(of: message, sending: header.type)
            handler = try self.handler(for: header)
        } catch {
            return frames(rejecting: error, re: header.id)
        }
        let call = BusRoutes.Call(
            content: header.content,
            body: message.frames[1],
            context: BusContext(peer: peer, traceparent: header.traceparent, id: header.id),
            emit: { answer in
                await link.emit(message.envelope, frames(answer, re: header.id))
            }
        )
        CrashPoint.reach("\(header.type) received")
        switch await handler(call) {
        case .answer(let answer): return frames(answer, re: header.id)
        case .rejected(let reject): return frames(rejecting: reject, re: header.id)
        case .done: return nil
        }
    }

    /// A frame without header: a bare event where the routes take one, otherwise a fault.
    private func respond(
        toUnheaded message: ZeroMQMessage,
        _ fault: BusHeaderFault
    ) async -> [[UInt8]]? {
        switch fault {
        case .version(let id):
            let reject = Reject(.unsupportedVersion, "only version 1 of the framing is known here")
            return frames(rejecting: reject, re: id)
        case .malformed(let id, let reason):
            return frames(rejecting: Reject(.malformed, "the header is wrong: \(reason)"), re: id)
        case .noHeader: break
        }
        guard
            message.frames.count == 1,
            let type = routes.bareType,
            let handler = routes.handler(for: type)
        else {
            let reject = Reject(.malformed, "the first frame is no PushBus header (JSON object)")
            return frames(rejecting: reject, re: nil)
        }
        do throws(Reject) {
            let peer = try self.peer(of: message, sending: type)
            let call = BusRoutes.Call(
                content: .json,
                body: message.frames[0],
                context: BusContext(peer: peer, traceparent: nil, id: ""),
                emit: { _ in false }
            )
            switch await handler(call) {
            case .answer(let answer): return [answer.body]
            case .rejected(let reject): throw reject
            case .done: return nil
            }
        } catch {
            metrics.countRejection(error.code)
            return [BusAnswer.rejection(error).body]
        }
    }

    /// The sender, judged for this very message: a revoked key stops here.
    private func peer(
        of message: ZeroMQMessage,
        sending type: String
    ) throws(Reject) -> BusPeer {
        guard let authority else { return .local }
        guard let key = message.userID, let entry = authority.principal(forKey: key) else {
            throw Reject(.notPermitted, "this key is not, or no longer, on the allow-list")
        }
        let peer = BusPeer(entry)
        guard peer.may(send: type) else {
            throw Reject(.notPermitted, "the principal \(entry.name) may not send \(type)")
        }
        return peer
    }

    private func handler(for header: BusHeader) throws(Reject) -> BusRoutes.Handler {
        guard header.re == nil else {
            throw Reject(.malformed, "this is an answer; only requests are taken here")
        }
        guard let handler = routes.handler(for: header.type) else {
            throw Reject(
                .unsupportedType,
                "\(header.type) is not answered here; check the endpoint and the version"
            )
        }
        return handler
    }

    /// The frames of a rejection, counted by code.
    func frames(rejecting reject: Reject, re: String?) -> [[UInt8]] {
        metrics.countRejection(reject.code)
        return frames(.rejection(reject), re: re)
    }

    private func frames(_ answer: BusAnswer, re: String?) -> [[UInt8]] {
        let header = BusHeader(
            type: answer.type,
            id: random.messageID(),
            re: re,
            content: answer.content
        )
        return [BusHeaderCodec.write(header), answer.body]
    }
}

extension RandomSource {
    /// A fresh random UUID (version 4) as the header carries it.
    func messageID() -> String {
        var b = bytes(16)
        b[6] = (b[6] & 0x0f) | 0x40
        b[8] = (b[8] & 0x3f) | 0x80
        var text: [UInt8] = []
        text.reserveCapacity(36)
        for (index, byte) in b.enumerated() {
            if index == 4 || index == 6 || index == 8 || index == 10 {
                text.append(UInt8(ascii: "-"))
            }
            text.append(Self.hexDigits[Int(byte >> 4)])
            text.append(Self.hexDigits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static let hexDigits = Array("0123456789abcdef".utf8)
}
