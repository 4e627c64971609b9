import Glibc

/// A gate a thread waits at until another opens it, once.
// Sendable by proof: a POSIX semaphore may be used from any thread; the pointer is constant.
final class ThreadGate: @unchecked Sendable {
    private let semaphore: UnsafeMutablePointer<sem_t>

    init() {
        semaphore = .allocate(capacity: 1)
        sem_init(semaphore, 0, 0)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func open() {
        sem_post(semaphore)
    }

    func pass() {
        while sem_wait(semaphore) != 0 && errno == EINTR {}
    }
}
