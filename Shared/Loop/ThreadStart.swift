import CLinux
import Glibc

/// Starts a joinable thread of that name (15 bytes are kept) which runs the closure once.
func startThread(
    name: String,
    _ body: @escaping @Sendable () -> Void
) throws(SystemCallError) -> pthread_t {
    let context = Unmanaged.passRetained(ThreadStart(name: name, body: body))
    var thread = pthread_t()
    let result = pthread_create(&thread, nil, threadEntry, context.toOpaque())
    guard result == 0 else {
        context.release()
        throw SystemCallError(call: "pthread_create", code: result)
    }
    return thread
}

/// What a new thread needs to know.
private final class ThreadStart: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }
}

private func threadEntry(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    let start = Unmanaged<ThreadStart>.fromOpaque(context).takeRetainedValue()
    clinux_name_this_thread(start.name)
    start.body()
    return nil
}

/// A thread nobody waits for.
package enum DetachedThread {
    /// Runs the closure once on a new thread; for waits that last as long as the process.
    package static func start(
        name: String,
        _ body: @escaping @Sendable () -> Void
    ) throws(SystemCallError) {
        pthread_detach(try startThread(name: name, body))
    }
}
