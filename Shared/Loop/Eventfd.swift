import CLinux
import Glibc

/// An owned eventfd: a wake-up that any thread may ring and one thread waits for.
package struct Eventfd: ~Copyable, Sendable {
    /// The descriptor to wait for; it is readable from a `wake()` until the next `drain()`.
    package let fd: Int32

    /// Opens a non-blocking descriptor; it fails only when the process or system is out of them.
    package init() throws(SystemCallError) {
        let fd = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
        guard fd >= 0 else { throw .last("eventfd") }
        self.fd = fd
    }

    deinit {
        close(fd)
    }

    /// Makes the descriptor readable; may be called on any thread and in a signal handler.
    package func wake() {
        var one: UInt64 = 1
        // EAGAIN means the counter is full, hence already readable.
        while write(fd, &one, 8) < 0 && errno == EINTR {}
    }

    /// Takes back all wake-ups so far.
    package func drain() {
        var count: UInt64 = 0
        while read(fd, &count, 8) < 0 && errno == EINTR {}
    }
}
