import Glibc

/// Holds a store's thread until the test opens it.
final class Gate: Sendable {
    private let semaphore: Semaphore = Semaphore()

    func waitUntilOpen() { sem_wait(semaphore.pointer) }
    func open() { sem_post(semaphore.pointer) }
}

// Sendable by proof: a POSIX semaphore may be waited for and posted by any thread (sem_overview(7)).
private final class Semaphore: @unchecked Sendable {
    let pointer = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(pointer, 0, 0) }

    deinit {
        sem_destroy(pointer)
        pointer.deallocate()
    }
}
