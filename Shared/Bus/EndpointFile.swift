import Glibc

/// A file of endpoints that the processes of a service keep together, one a line; their peers read
/// it again while they run.
package struct EndpointFile: Sendable {
    private let path: String

    /// The file by absolute path; it need not be there yet.
    package init(path: String) { self.path = path }

    /// Puts the endpoint in, once.
    package func add(_ endpoint: BusEndpoint) throws(BusConfigurationError) {
        try change(endpoint.address, adding: [endpoint.description])
    }

    /// Takes the endpoint out.
    package func remove(_ endpoint: BusEndpoint) throws(BusConfigurationError) {
        try change(endpoint.address, adding: [])
    }

    /// Makes the file, without any endpoint in it.
    package func clear() throws(BusConfigurationError) {
        try locked { () throws(BusConfigurationError) in try write([]) }
    }

    private func change(
        _ address: String,
        adding more: [String]
    ) throws(BusConfigurationError) {
        try locked { () throws(BusConfigurationError) in
            let lines = FileStamp.read(path)?.text.split(separator: "\n").map(String.init) ?? []
            let others = lines.filter { $0.split(separator: " ").first.map(String.init) != address }
            try write(others + more)
        }
    }

    /// Runs the body while no other process changes the file.
    private func locked(
        _ body: () throws(BusConfigurationError) -> Void
    ) throws(BusConfigurationError) {
        let lock = open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw failure("lock") }
        defer { close(lock) }
        while flock(lock, LOCK_EX) != 0 {
            guard errno == EINTR else { throw failure("lock") }
        }
        try body()
    }

    /// Whoever reads it at the same time sees the old text or the new one.
    private func write(_ lines: [String]) throws(BusConfigurationError) {
        let bytes = Array(lines.map { $0 + "\n" }.joined().utf8)
        let fresh = path + ".new"
        let file = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure("write") }
        let count = Glibc.write(file, bytes, bytes.count)
        close(file)
        guard count == bytes.count, rename(fresh, path) == 0 else { throw failure("write") }
    }

    private func failure(_ verb: String) -> BusConfigurationError {
        let reason = strerror(errno).map { String(cString: $0) } ?? "unknown error"
        return BusConfigurationError("cannot \(verb) the endpoint file \(path): \(reason)")
    }
}
