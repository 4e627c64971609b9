/// What a loop thread waits with.
///
/// All calls but `wake()` come on the loop thread. A backend is Sendable because others hold a
/// reference to it; its confinement to the thread is its own duty.
package protocol LoopBackend: AnyObject, Sendable {
    /// Waits until something is ready, `wake()` was called or the time is up, and handles what is
    /// ready.
    ///
    /// Nil waits without limit, zero only looks. A wake-up that came before the call ends it at
    /// once; returning too early is allowed.
    func wait(atMost timeout: Duration?)

    /// Ends the current or the next `wait`; may be called on any thread.
    func wake()

    /// The loop ends: lets go of whatever handlers there are. May be called more than once.
    func end()
}

extension LoopBackend {
    package func end() {}
}
