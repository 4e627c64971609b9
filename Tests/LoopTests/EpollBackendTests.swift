import Glibc
import Loop
import TestKit
import Testing

@Suite(.timeLimit(.minutes(1)))
struct EpollBackendTests {
    /// Two connected stream sockets that close with the value.
    private final class SocketPair: Sendable {
        let near: Int32
        let far: Int32

        init() throws {
            var ends: [Int32] = [0, 0]
            let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
            try #require(socketpair(AF_UNIX, kind, 0, &ends) == 0)
            (near, far) = (ends[0], ends[1])
        }

        deinit {
            close(near)
            close(far)
        }
    }

    @Test("A ready descriptor calls its handler on the loop, and level-triggered again")
    func ready() async throws {
        let backend = try EpollBackend()
        let loop = try LoopExecutor(name: "epoll", backend: backend)
        let pair = try SocketPair()
        let read = Observed<[UInt8]>([])
        loop.execute {
            #expect(throws: Never.self) {
                try backend.watch(pair.near, for: .read) { events in
                    #expect(events.contains(.read))
                    #expect(loop.isCurrent)
                    // One byte at a time: the rest has to be reported again.
                    var byte: UInt8 = 0
                    if Glibc.read(pair.near, &byte, 1) == 1 {
                        let byte = byte
                        read.update { $0.append(byte) }
                    }
                }
            }
        }
        #expect(write(pair.far, "abc", 3) == 3)
        await read.wait { $0 == Array("abc".utf8) }
        loop.stop()
    }

    @Test("A loop that ends lets go of its handlers, and late jobs may still unwatch")
    func end() async throws {
        final class Held: Sendable {}
        let backend = try EpollBackend()
        let loop = try LoopExecutor(name: "epoll", backend: backend)
        let pair = try SocketPair()
        weak let held: Held?
        do {
            let object = Held()
            held = object
            await onLoop(loop) {
                #expect(throws: Never.self) {
                    try backend.watch(pair.near, for: .read) { _ in _ = object }
                }
            }
        }
        #expect(held != nil)
        loop.stop()
        #expect(held == nil)
        await onLoop(loop) { backend.unwatch(pair.near) }
    }

    @Test("Interest can change, and a descriptor no longer watched is silent")
    func interest() async throws {
        let backend = try EpollBackend()
        let loop = try LoopExecutor(name: "epoll", backend: backend)
        let pair = try SocketPair()
        let calls = Observed(0)
        await onLoop(loop) {
            #expect(throws: Never.self) {
                try backend.watch(pair.near, for: []) { events in
                    #expect(events == .write)
                    calls.update { $0 += 1 }
                    backend.unwatch(pair.near)
                }
                try backend.setInterest(pair.near, .write)
            }
        }
        await calls.wait { $0 == 1 }
        // The loop has waited and looked again since: a handler still in place would have run.
        for _ in 0..<3 { await onLoop(loop) {} }
        #expect(calls.value == 1)
        await onLoop(loop) {
            #expect(throws: SystemCallError.self) { try backend.setInterest(pair.near, .read) }
            #expect(throws: SystemCallError.self) { try backend.watch(9_999, for: .read) { _ in } }
        }
        loop.stop()
    }

    @Test("An event fetched for a descriptor that was replaced meanwhile is dropped")
    func replaced() async throws {
        let backend = try EpollBackend()
        let loop = try LoopExecutor(name: "epoll", backend: backend)
        let pairs = [try SocketPair(), try SocketPair()]
        let calls = Observed<[String]>([])
        await onLoop(loop) {
            // Both become ready in one wait; whoever runs first unwatches the other.
            for (index, pair) in pairs.enumerated() {
                let other = pairs[1 - index]
                #expect(write(pair.far, "x", 1) == 1)
                #expect(throws: Never.self) {
                    try backend.watch(pair.near, for: .read) { _ in
                        backend.unwatch(pair.near)
                        backend.unwatch(other.near)
                        calls.update { $0.append("first") }
                        try? backend.watch(other.near, for: .write) { events in
                            backend.unwatch(other.near)
                            calls.update { $0.append(events == .write ? "new" : "stale") }
                        }
                    }
                }
            }
        }
        await calls.wait { $0.count == 2 }
        #expect(calls.value == ["first", "new"])
        loop.stop()
    }

    private func onLoop(_ loop: LoopExecutor, _ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            loop.execute {
                body()
                continuation.resume()
            }
        }
    }
}
