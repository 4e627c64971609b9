import Contracts
import Glibc
import Loop

/// How much a log line matters.
package enum LogLevel: Int, Comparable, CaseIterable, Sendable {
    case debug
    case info
    case warning
    case error

    /// The name as configuration and log lines write it.
    package var name: String {
        switch self {
        case .debug: "debug"
        case .info: "info"
        case .warning: "warning"
        case .error: "error"
        }
    }

    /// The level of that name, if there is one.
    package init?(name: String) {
        guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = level
    }

    package static func < (left: Self, right: Self) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// Writes one JSON object a line: time, level, event, then the fields in alphabetical order.
///
/// Never log what the project keeps secret: tokens, keys, content. Log type, id and size.
package struct Log: Sendable {
    /// Where finished lines go, newline included; called on the logging thread.
    package typealias Sink = @Sendable ([UInt8]) -> Void

    /// Lines below this level are not written.
    package let level: LogLevel
    private let time: any TimeSource
    private let fields: [String: LogValue]
    private let sink: Sink

    /// Writes to standard error unless another sink is given.
    package init(
        level: LogLevel = .info,
        time: any TimeSource = SystemTime(),
        fields: [String: LogValue] = [:],
        sink: @escaping Sink = Log.standardError
    ) {
        self.level = level
        self.time = time
        self.fields = fields
        self.sink = sink
    }

    /// A log that keeps nothing.
    package static let silent = Log(level: .error, sink: { _ in })

    /// The same log with more fields in every line.
    package func with(_ more: [String: LogValue]) -> Log {
        Log(
            level: level,
            time: time,
            fields: fields.merging(more) { _, new in new },
            sink: sink
        )
    }

    package func debug(_ event: String, _ fields: @autoclosure () -> [String: LogValue] = [:]) {
        if level <= .debug { write(.debug, event, fields()) }
    }

    package func info(_ event: String, _ fields: @autoclosure () -> [String: LogValue] = [:]) {
        if level <= .info { write(.info, event, fields()) }
    }

    package func warning(_ event: String, _ fields: @autoclosure () -> [String: LogValue] = [:]) {
        if level <= .warning { write(.warning, event, fields()) }
    }

    package func error(_ event: String, _ fields: @autoclosure () -> [String: LogValue] = [:]) {
        write(.error, event, fields())
    }

    private func write(_ level: LogLevel, _ event: String, _ more: [String: LogValue]) {
        var line = JSONLine()
        line.add("time", .string(time.wall.rfc3339))
        line.add("level", .string(level.name))
        line.add("event", .string(event))
        let all = fields.merging(more) { _, new in new }
        for key in all.keys.sorted() where !["time", "level", "event"].contains(key) {
            if let value = all[key] { line.add(key, value) }
        }
        sink(line.finished())
    }

    /// Writes to file descriptor 2; whole lines within this process, and within PIPE_BUF whole
    /// lines between processes. A line that cannot be written is given up.
    package static let standardError: Sink = { line in
        standardErrorTurn.withLock { _ in
            var done = 0
            while done < line.count {
                let count = line[done...].withUnsafeBytes {
                    Glibc.write(2, $0.baseAddress, $0.count)
                }
                if count < 0 && errno != EINTR { return }
                done += max(0, count)
            }
        }
    }

    private static let standardErrorTurn = Locked(())
}
