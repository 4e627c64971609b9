import CLinux
import Glibc

/// What a descriptor is watched for, or what it is ready for.
package struct EpollEvents: OptionSet, Sendable, Hashable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Something can be read, or the peer closed.
    package static let read = EpollEvents(rawValue: EPOLLIN.rawValue)
    /// There is room to write.
    package static let write = EpollEvents(rawValue: EPOLLOUT.rawValue)
    /// The peer closed its writing half.
    package static let readHangup = EpollEvents(rawValue: EPOLLRDHUP.rawValue)
    /// Both halves are closed; reported whether watched for or not.
    package static let hangup = EpollEvents(rawValue: EPOLLHUP.rawValue)
    /// An error is pending; reported whether watched for or not.
    package static let error = EpollEvents(rawValue: EPOLLERR.rawValue)
}

/// Waits with epoll (level-triggered) and hands ready descriptors to their handlers.
// Sendable by proof: `watches` and `generation` are touched on the loop thread only, which every
// method but `wake()` checks once the loop has begun to wait; `eventfd` is thread-safe.
package final class EpollBackend: LoopBackend, @unchecked Sendable {
    private struct Watch {
        var generation: UInt32
        var handler: @Sendable (EpollEvents) -> Void
    }

    private let epoll: Int32
    private let eventfd: Eventfd
    private let events: UnsafeMutableBufferPointer<epoll_event>
    private var watches: [Int32: Watch] = [:]
    private var generation: UInt32 = 0
    private var owner: pthread_t?

    /// Opens the epoll descriptor and the eventfd of `wake()`.
    package init() throws(SystemCallError) {
        let eventfd = try Eventfd()
        let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard epoll >= 0 else { throw .last("epoll_create1") }
        var event = epoll_event()
        event.events = EPOLLIN.rawValue
        event.data.u64 = UInt64(UInt32(bitPattern: eventfd.fd))
        guard epoll_ctl(epoll, EPOLL_CTL_ADD, eventfd.fd, &event) == 0 else {
            let failure = SystemCallError.last("epoll_ctl")
            close(epoll)
            throw failure
        }
        self.eventfd = eventfd
        self.epoll = epoll
        events = .allocate(capacity: 64)
        events.initialize(repeating: epoll_event())
    }

    deinit {
        close(epoll)
        events.deallocate()
    }

    /// Watches a descriptor; the handler runs on the loop thread each time it is ready.
    ///
    /// The descriptor stays the caller's; call `unwatch` before closing it. Loop thread only.
    package func watch(
        _ fd: Int32,
        for interest: EpollEvents,
        _ handler: @escaping @Sendable (EpollEvents) -> Void
    ) throws(SystemCallError) {
        checkOwner()
        precondition(watches[fd] == nil, "descriptor \(fd) is watched already")
        generation &+= 1
        try control(EPOLL_CTL_ADD, fd, interest, generation)
        watches[fd] = Watch(generation: generation, handler: handler)
    }

    /// Changes what a watched descriptor is watched for; an empty set mutes it. Loop thread only.
    package func setInterest(_ fd: Int32, _ interest: EpollEvents) throws(SystemCallError) {
        checkOwner()
        guard let watch = watches[fd] else {
            throw SystemCallError(call: "epoll_ctl", code: ENOENT)
        }
        try control(EPOLL_CTL_MOD, fd, interest, watch.generation)
    }

    /// Stops watching; events already fetched for it are dropped. Loop thread only.
    package func unwatch(_ fd: Int32) {
        checkOwner()
        guard watches.removeValue(forKey: fd) != nil else { return }
        // Fails only when the descriptor was closed before, which ended the watch as well.
        _ = epoll_ctl(epoll, EPOLL_CTL_DEL, fd, nil)
    }

    package func wait(atMost timeout: Duration?) {
        if owner == nil { owner = pthread_self() }
        let milliseconds = timeout?.pollMilliseconds ?? -1
        let count = epoll_wait(epoll, events.baseAddress, Int32(events.count), milliseconds)
        // EINTR counts as an early return, which the loop allows.
        guard count > 0 else { return }
        for event in events.prefix(Int(count)) {
            let data = event.data.u64
            let fd = Int32(bitPattern: UInt32(truncatingIfNeeded: data))
            if fd == eventfd.fd {
                eventfd.drain()
            } else if let watch = watches[fd], watch.generation == UInt32(data >> 32) {
                watch.handler(EpollEvents(rawValue: event.events))
            }
        }
    }

    package func wake() {
        eventfd.wake()
    }

    /// Forgets the handlers, which may hold what holds this backend.
    package func end() {
        let handlers = watches
        watches = [:]
        for fd in handlers.keys { _ = epoll_ctl(epoll, EPOLL_CTL_DEL, fd, nil) }
        // What is still queued runs on another thread.
        owner = nil
    }

    private func control(
        _ operation: Int32,
        _ fd: Int32,
        _ interest: EpollEvents,
        _ generation: UInt32
    ) throws(SystemCallError) {
        var event = epoll_event()
        event.events = interest.rawValue
        event.data.u64 = UInt64(generation) << 32 | UInt64(UInt32(bitPattern: fd))
        guard epoll_ctl(epoll, operation, fd, &event) == 0 else { throw .last("epoll_ctl") }
    }

    private func checkOwner() {
        precondition(
            owner == nil || owner == pthread_self(),
            "only the loop thread may change what is watched"
        )
    }
}
