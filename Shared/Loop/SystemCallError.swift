import Glibc

/// A system call that failed for want of a resource, with the `errno` it left behind.
package struct SystemCallError: Error, CustomStringConvertible, Hashable {
    /// The name of the call as in its manual page.
    package let call: String
    /// The value of `errno` (or the return value of a pthread call).
    package let code: Int32

    /// Names the failed call and the code it returned.
    package init(call: String, code: Int32) {
        self.call = call
        self.code = code
    }

    /// Reads `errno`, so it has to be the first thing after the failed call.
    package static func last(_ call: String) -> SystemCallError {
        SystemCallError(call: call, code: errno)
    }

    package var description: String {
        let advice =
            switch code {
            case EMFILE, ENFILE: "; raise the limit on open files (ulimit -n)"
            case EAGAIN: "; raise the limit on threads or processes (ulimit -u)"
            case ENOMEM: "; the machine is out of memory"
            default: ""
            }
        return "\(call) failed: \(String(cString: strerror(code))) (errno \(code))\(advice)"
    }
}
