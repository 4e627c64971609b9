import Glibc
import TestKit
import Testing
import ZeroMQ

/// Sockets used on one thread, as their owner would.
@Suite struct ZeroMQSocketTests {
    private let directory: TemporaryDirectory
    private let context: ZeroMQContext

    init() throws {
        directory = try TemporaryDirectory()
        context = try ZeroMQContext()
    }

    private func pair() throws -> (router: ZeroMQSocket, dealer: ZeroMQSocket) {
        let router = try ZeroMQSocket(
            .router,
            context: context,
            options: .router(window: 4, curve: nil)
        )
        let endpoint = "ipc://\(directory.file("s.sock"))"
        try router.bind(endpoint)
        let dealer = try ZeroMQSocket(
            .dealer,
            context: context,
            options: .dealer(window: 4, curve: nil)
        )
        try dealer.connect(endpoint)
        try dealer.waitUntil(write: true)
        return (router, dealer)
    }

    @Test func framesAndDelimiterArriveAsSent() throws {
        let (router, dealer) = try pair()
        let sent = try dealer.send(ZeroMQEnvelope(delimiter: true), [[1], [], [2, 3]])
        #expect(sent == .sent)
        try router.waitUntil(write: false)
        guard case .message(let message) = try router.receive(limits: .bus) else {
            Issue.record("no message came")
            return
        }
        #expect(message.frames == [[1], [], [2, 3]])
        #expect(message.envelope.delimiter)
        #expect(!message.envelope.routingID.isEmpty)
        #expect(try router.send(message.envelope, [[9]]) == .sent)
        try dealer.waitUntil(write: false)
        guard case .message(let answer) = try dealer.receive(limits: .bus) else {
            Issue.record("no answer came")
            return
        }
        #expect(answer.frames == [[9]])
        #expect(answer.envelope.delimiter)
    }

    @Test func nothingWaitingIsAValue() throws {
        let (router, _) = try pair()
        guard case .nothing = try router.receive(limits: .bus) else {
            Issue.record("something came from nowhere")
            return
        }
    }

    @Test func aPeerNobodyKnowsIsUnreachable() throws {
        let (router, _) = try pair()
        let envelope = ZeroMQEnvelope(routingID: [1, 2, 3, 4, 5])
        #expect(try router.send(envelope, [[1]]) == .unreachable)
    }

    @Test func withoutAPeerADealerIsFull() throws {
        let dealer = try ZeroMQSocket(
            .dealer,
            context: context,
            options: .dealer(window: 4, curve: nil)
        )
        try dealer.connect("ipc://\(directory.file("nobody.sock"))")
        #expect(try dealer.send(ZeroMQEnvelope(), [[1]]) == .full)
    }

    @Test func aFullPeerIsReportedNotDropped() throws {
        let (router, dealer) = try pair()
        _ = try dealer.send(ZeroMQEnvelope(), [[1]])
        try router.waitUntil(write: false)
        guard case .message(let message) = try router.receive(limits: .bus) else {
            Issue.record("no message came")
            return
        }
        let chunk = [UInt8](repeating: 7, count: 100_000)
        var sent = 0
        while try router.send(message.envelope, [chunk]) == .sent, sent < 10_000 { sent += 1 }
        #expect(sent < 10_000)
        for _ in 0..<sent {
            try dealer.waitUntil(write: false)
            guard case .message = try dealer.receive(limits: .bus) else {
                Issue.record("a message that libzmq took was lost")
                return
            }
        }
    }

    @Test func tooManyFramesAreReadInSlicesAndThrownAway() throws {
        let (router, dealer) = try pair()
        _ = try dealer.send(ZeroMQEnvelope(), Array(repeating: [1], count: 10_000))
        _ = try dealer.send(ZeroMQEnvelope(), [[2]])
        try router.waitUntil(write: false)
        var slices = 0
        while true {
            switch try router.receive(limits: .bus) {
            case .draining: slices += 1
            case .excessive(_, _, let frames, let bytes):
                #expect(frames == 10_000)
                #expect(bytes == 10_000)
                #expect(slices >= 4)
                try router.waitUntil(write: false)
                guard case .message(let message) = try router.receive(limits: .bus) else {
                    Issue.record("the next message was lost")
                    return
                }
                #expect(message.frames == [[2]])
                return
            case .message, .nothing:
                Issue.record("not drained")
                return
            }
        }
    }

    @Test func aFrameBeyondTheMaximumCutsThePeerOnly() throws {
        let (router, dealer) = try pair()
        _ = try dealer.send(ZeroMQEnvelope(), [[UInt8](repeating: 0, count: 2_000_000)])
        let other = try ZeroMQSocket(
            .dealer,
            context: context,
            options: .dealer(window: 4, curve: nil)
        )
        try other.connect("ipc://\(directory.file("s.sock"))")
        try other.waitUntil(write: true)
        _ = try other.send(ZeroMQEnvelope(), [[5]])
        try router.waitUntil(write: false)
        guard case .message(let message) = try router.receive(limits: .bus) else {
            Issue.record("the honest peer was not heard")
            return
        }
        #expect(message.frames == [[5]])
    }

    @Test func twoTCPServersCannotShareAPort() throws {
        let first = try ZeroMQSocket(.router, context: context, options: ZeroMQSocketOptions())
        let address = try first.bind("tcp://127.0.0.1:0")
        let second = try ZeroMQSocket(.router, context: context, options: ZeroMQSocketOptions())
        #expect(throws: ZeroMQError.self) { try second.bind(address) }
    }

    @Test func aCurveServerWithoutADomainIsRefused() throws {
        let keys = try CurveKeyPair.generate()
        #expect(throws: ZeroMQError.self) {
            try ZeroMQSocket(
                .router,
                context: context,
                options: .router(window: 1, curve: .server(keys, domain: ""))
            )
        }
    }

    @Test func withoutAZAPHandlerNobodyIsLetIn() throws {
        let keys = try CurveKeyPair.generate()
        let router = try ZeroMQSocket(
            .router,
            context: context,
            options: .router(window: 1, curve: .server(keys, domain: "test"))
        )
        let address = try router.bind("tcp://127.0.0.1:0")
        let dealer = try ZeroMQSocket(
            .dealer,
            context: context,
            options: .dealer(
                window: 1,
                curve: .client(try CurveKeyPair.generate(), server: keys.publicKey)
            )
        )
        try dealer.connect(address)
        #expect(throws: ZeroMQError.self) { try dealer.waitUntil(write: true, limit: 300) }
    }
}
