import CZMQ

/// The one libzmq context of a process (several with CURVE can crash libzmq 4.3.4).
///
/// Sockets keep it alive, so it ends after the last of them; with LINGER 0 that never blocks.
package final class ZeroMQContext: Sendable {
    // Safety: libzmq documents the context as thread-safe; the pointer never changes.
    nonisolated(unsafe) let handle: UnsafeMutableRawPointer

    /// Makes a context with one I/O thread.
    package init() throws(ZeroMQError) {
        guard let handle = zmq_ctx_new() else { throw .last("zmq_ctx_new") }
        self.handle = handle
    }

    deinit {
        zmq_ctx_shutdown(handle)
        while zmq_ctx_term(handle) != 0 && zmq_errno() == zeroMQInterrupted {}
    }

    /// Whether the library was built with CURVE.
    package static var hasCurve: Bool { zmq_has("curve") == 1 }
}
