import Loop
import TestKit
import Testing

@Suite(.timeLimit(.minutes(1)))
struct BoundedChannelTests {
    @Test("Nothing is lost or repeated between many senders and receivers")
    func manyToMany() async {
        let channel = BoundedChannel<Int>(capacity: 3)
        let received = Locked<[Int]>([])
        await withTaskGroup(of: Void.self) { group in
            for receiver in 0..<3 {
                group.addTask {
                    while true {
                        let batch =
                            receiver == 0
                            ? [await channel.next()].compactMap(\.self)
                            : await channel.nextBatch(max: 5)
                        if batch.isEmpty { return }
                        received.withLock { $0 += batch }
                    }
                }
            }
            await withTaskGroup(of: Void.self) { senders in
                for sender in 0..<4 {
                    senders.addTask {
                        for index in 0..<500 {
                            await #expect(throws: Never.self) {
                                try await channel.send(sender * 500 + index)
                            }
                        }
                    }
                }
            }
            channel.finish()
        }
        #expect(received.withLock { $0 }.sorted() == Array(0..<2_000))
    }

    @Test("A full channel holds its sender back until there is room, in order")
    func order() async throws {
        let channel = BoundedChannel<Int>(capacity: 2)
        #expect(channel.trySend(1))
        #expect(channel.trySend(2))
        #expect(!channel.trySend(3))
        let sent = Observed(false)
        let sender = Task {
            try await channel.send(3)
            sent.update { $0 = true }
        }
        #expect(await channel.nextBatch(max: 1) == [1])
        await sent.wait { $0 }
        try await sender.value
        #expect(await channel.nextBatch(max: 10) == [2, 3])
        #expect(channel.count == 0)
    }

    @Test("A cancelled sender's element is not taken, a cancelled receiver takes nothing")
    func cancellation() async throws {
        let channel = BoundedChannel<Int>(capacity: 1)
        #expect(channel.trySend(1))
        let sender = Task { try await channel.send(2) }
        sender.cancel()
        await #expect(throws: CancellationError.self) { try await sender.value }
        #expect(await channel.next() == 1)
        #expect(channel.count == 0)

        let receiver = Task { await channel.next() }
        receiver.cancel()
        #expect(await receiver.value == nil)
        #expect(channel.trySend(4))
        #expect(await channel.next() == 4)
    }

    @Test("Under a storm of cancellations every element that was sent is received")
    func cancellationStorm() async {
        let channel = BoundedChannel<Int>(capacity: 2)
        let sent = Locked<Set<Int>>([])
        let received = Locked<[Int]>([])
        let receivers = Task {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        while !Task.isCancelled {
                            let one = Task { await channel.next() }
                            if Bool.random() { one.cancel() }
                            if let element = await one.value {
                                received.withLock { $0.append(element) }
                            } else if channel.count == 0 && Task.isCancelled {
                                return
                            }
                            await Task.yield()
                        }
                    }
                }
            }
        }
        await withTaskGroup(of: Void.self) { group in
            for sender in 0..<4 {
                group.addTask {
                    for index in 0..<300 {
                        let element = sender * 300 + index
                        let one = Task { try await channel.send(element) }
                        if Bool.random() { one.cancel() }
                        if (try? await one.value) != nil {
                            sent.withLock { _ = $0.insert(element) }
                        }
                    }
                }
            }
        }
        receivers.cancel()
        channel.finish()
        await receivers.value
        while let rest = await channel.next() { received.withLock { $0.append(rest) } }
        let all = received.withLock { $0 }
        #expect(all.count == Set(all).count)
        #expect(Set(all) == sent.withLock { $0 })
    }

    @Test("Finishing turns senders away, lets the rest be received and ends receivers")
    func finish() async throws {
        let channel = BoundedChannel<Int>(capacity: 1)
        #expect(channel.trySend(1))
        let turnedAway = Task { try await channel.send(2) }
        // The channel may finish before or while the sender waits: the answer is the same.
        channel.finish()
        await #expect(throws: ChannelFinished.self) { try await turnedAway.value }
        await #expect(throws: ChannelFinished.self) { try await channel.send(3) }
        #expect(!channel.trySend(4))
        #expect(await channel.next() == 1)
        #expect(await channel.next() == nil)
        #expect(await channel.nextBatch(max: 3) == [])

        let empty = BoundedChannel<Int>(capacity: 1)
        async let waiting = empty.nextBatch(max: 2)
        empty.finish()
        #expect(await waiting == [])
    }
}
