import Loop

/// Lines in the order in which they were noted.
final class Log: Sendable {
    private let noted = Locked<[String]>([])

    func note(_ line: String) { noted.withLock { $0.append(line) } }

    var lines: [String] { noted.withLock { $0 } }
}
