import Glibc
import Loop

/// Watches a pipe whose other end the supervisor holds: when the supervisor dies, however it
/// dies, the pipe ends and this process stops in order.
package enum Lifeline {
    /// The variable that names the descriptor.
    package static let variable = "PUSHBUS_LIFELINE_FD"

    /// Raises the signal when the pipe ends; nothing is watched unless it is a descriptor number.
    ///
    /// The thread is left behind at the end of the process, which it does not hold up.
    package static func watch(_ value: String?, raising stop: StopSignal) throws(SystemCallError) {
        guard let value, let descriptor = Int32(value), descriptor > 2 else { return }
        // Grandchildren must not inherit it.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        try DetachedThread.start(name: "lifeline") {
            var byte: UInt8 = 0
            while true {
                let count = read(descriptor, &byte, 1)
                if count > 0 || (count < 0 && errno == EINTR) { continue }
                stop.trigger()
                return
            }
        }
    }
}
