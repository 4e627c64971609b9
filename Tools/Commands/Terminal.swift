import Glibc
import Loop

/// Where a tool writes: whole texts, unbuffered, so that a pipe sees each line at once.
package struct Terminal: Sendable {
    package typealias Sink = @Sendable (String) -> Void

    private let output: Sink
    private let errors: Sink

    package init(output: @escaping Sink, errors: @escaping Sink) {
        self.output = output
        self.errors = errors
    }

    /// Standard output and standard error. A reader that went away is no reason to end.
    package static let standard = Terminal(
        output: { write($0, to: STDOUT_FILENO) },
        errors: { write($0, to: STDERR_FILENO) }
    )

    /// Writes a result.
    package func out(_ text: String) { output(text) }

    /// Writes a result and ends the line.
    package func line(_ text: String) { output(text + "\n") }

    /// Writes what is not a result.
    package func error(_ text: String) { errors(text) }

    private static let lock = Locked(())

    private static func write(_ text: String, to descriptor: Int32) {
        lock.withLock { _ in
            var bytes = Array(text.utf8)[...]
            while !bytes.isEmpty {
                let count = bytes.withUnsafeBytes {
                    Glibc.write(descriptor, $0.baseAddress, $0.count)
                }
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { return }
                bytes = bytes.dropFirst(count)
            }
        }
    }
}
