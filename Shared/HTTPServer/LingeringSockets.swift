import CMHD
import Glibc
import Loop

/// Sockets of refused uploads, kept a moment after their reply.
///
/// Closing a socket while the client still sends resets the connection, and then most clients
/// report a broken pipe instead of the reply that explains the refusal. What comes is read and
/// dropped, within bounds of number, bytes and time. Lives on the deadline thread only.
struct LingeringSockets {
    private struct Entry {
        var leftBytes: Int
        let timer: LoopTimer
    }

    static let mostAtOnce = 64
    static let mostBytes = 8 << 20
    static let longest = Duration.seconds(2)

    private let backend: EpollBackend
    private var entries: [Int32: Entry] = [:]

    init(backend: EpollBackend) {
        self.backend = backend
    }

    var isFull: Bool { entries.count >= Self.mostAtOnce }

    /// Takes a socket over; `ready` is called when bytes came and `timer` ends it.
    mutating func add(
        _ descriptor: Int32,
        timer: LoopTimer,
        ready: @escaping @Sendable () -> Void
    ) {
        entries[descriptor] = Entry(leftBytes: Self.mostBytes, timer: timer)
        do throws(SystemCallError) {
            try backend.watch(descriptor, for: .read) { _ in ready() }
        } catch {
            remove(descriptor)
        }
    }

    /// Drops what has come; closes the socket at its end or when its budget is spent.
    mutating func discard(_ descriptor: Int32) {
        guard var entry = entries[descriptor] else { return }
        let chunk = 65_536
        let ended = withUnsafeTemporaryAllocation(byteCount: chunk, alignment: 8) { buffer in
            for _ in 0..<16 {
                let count = recv(descriptor, buffer.baseAddress, chunk, Int32(MSG_DONTWAIT))
                if count < 0 { return errno != EAGAIN && errno != EINTR }
                entry.leftBytes -= count
                if count == 0 || entry.leftBytes <= 0 { return true }
            }
            return false
        }
        entries[descriptor] = entry
        if ended { remove(descriptor) }
    }

    mutating func remove(_ descriptor: Int32) {
        guard let entry = entries.removeValue(forKey: descriptor) else { return }
        entry.timer.cancel()
        backend.unwatch(descriptor)
        close(descriptor)
    }

    mutating func removeAll() {
        for descriptor in Array(entries.keys) { remove(descriptor) }
    }
}
