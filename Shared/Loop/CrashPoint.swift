import Glibc

/// Named moments at which a test ends the process as a power cut would: before and after each
/// commit, send and acknowledgement. Release builds hold none of it.
package enum CrashPoint {
    #if DEBUG
    /// Where the name of the moment is written that is to be the last; a test puts it there
    /// while the process runs. Beside it, `.reached` lists the moments that came.
    private static let file = getenv("PUSHBUS_CRASH_FILE").map { String(cString: $0) }
    private static let reached = Locked<Set<String>>([])
    #endif

    /// Says that this moment has come; does not return when it is the one that a test waits for.
    @inline(__always)
    package static func reach(_ moment: @autoclosure () -> String) {
        #if DEBUG
        if let file { arrive(at: moment(), file) }
        #endif
    }

    #if DEBUG
    private static func arrive(at moment: String, _ file: String) {
        if reached.withLock({ $0.insert(moment).inserted }) {
            let log = open(file + ".reached", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            var line = moment + "\n"
            line.withUTF8 { _ = write(log, $0.baseAddress, $0.count) }
            close(log)
        }
        guard wanted(file) == moment else { return }
        // Taken away first, so that the next process lives.
        unlink(file)
        kill(getpid(), SIGKILL)
    }

    private static func wanted(_ file: String) -> String? {
        let descriptor = open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = read(descriptor, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
    }
    #endif
}
