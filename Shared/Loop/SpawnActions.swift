import CLinux
import Glibc

/// What a new process does before its program runs, where Swift's own C library module is silent.
package enum SpawnActions {
    /// Closes every descriptor from that one up in the child.
    package static func closeAll(from first: Int32, in actions: inout posix_spawn_file_actions_t) {
        clinux_close_from(&actions, first)
    }
}
