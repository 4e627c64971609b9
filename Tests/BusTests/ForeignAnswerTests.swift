import Bus
import Contracts
import Loop
import TestKit
import Testing
import ZeroMQ

@Suite(.timeLimit(.minutes(1))) struct ForeignAnswerTests {
    @Test func onlyThePeerThatWasAskedIsBelieved() async throws {
        let world = try BusWorld()
        let asked = Observed<String?>(nil)
        let gate = StopSignal()
        var routes = BusRoutes()
        routes.answer(Echo.self) { (request, context) throws(Reject) in
            asked.update { $0 = context.id }
            await gate.wait()
            return EchoAnswer(request.text)
        }
        let endpoint = BusEndpoint(.ipc(world.directory.file("forger.sock")))
        let forger = try await ForgingPeer(world, at: endpoint)
        try await world.serving(try world.server(routes: routes)) { honest in
            let client = try world.client(honest + [endpoint])
            while await client.connectedPeers() < 2 { try Task.checkCancellation() }
            // One for each peer, whichever way they go.
            async let first = client.ask(Echo("mine"), timeout: .seconds(20))
            async let second = client.ask(Echo("mine"), timeout: .seconds(20))
            let id = try #require(await asked.wait { $0 != nil } ?? nil)
            try await forger.answer(forging: id)
            gate.trigger()
            let answers = try await [first.text, second.text]
            #expect(answers.sorted() == ["mine", "right"])
            #expect(world.count("pushbus_bus_client_late_answers_total{client=\"client\"}") == 1)
            client.stop()
        }
        try await forger.close()
    }
}

/// A ROUTER that answers one request, and before it one that somebody else was asked.
private actor ForgingPeer {
    private nonisolated let thread: SerialThread
    private var socket: ZeroMQSocket?

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(_ world: BusWorld, at endpoint: BusEndpoint) async throws {
        thread = try SerialThread(name: "forger")
        try open(world.runtime.context, endpoint)
    }

    private func open(_ context: ZeroMQContext, _ endpoint: BusEndpoint) throws {
        let socket = try ZeroMQSocket(.router, context: context, options: ZeroMQSocketOptions())
        _ = try socket.bind(endpoint.address)
        self.socket = socket
    }

    func answer(forging id: String) throws {
        guard let socket else { return }
        while true {
            try socket.waitUntil(write: false)
            let limits = ZeroMQLimits(frames: 16, bytes: 1 << 22)
            guard case .message(let message) = try socket.receive(limits: limits) else { continue }
            let header = text(message.frames[0])
            let own = header.components(after: "\"id\":\"").prefix { $0 != "\"" }
            for (id, words) in [(id, "forged"), (String(own), "right")] {
                let frames = [
                    Array(
                        """
                        {"pushbus":1,"type":"test.echo.answer.v1","id":"\(id)","re":"\(id)",\
                        "content":"json"}
                        """.utf8
                    ), Array("{\"text\":\"\(words)\",\"data\":\"\"}".utf8),
                ]
                _ = try socket.send(message.envelope, frames)
            }
            return
        }
    }

    nonisolated func close() async throws {
        await closeSocket()
        thread.stop()
    }

    private func closeSocket() {
        socket?.close()
        socket = nil
    }
}

extension String {
    /// What follows the first mark.
    fileprivate func components(after mark: String) -> Substring {
        firstRange(of: mark).map { self[$0.upperBound...] } ?? ""
    }
}
