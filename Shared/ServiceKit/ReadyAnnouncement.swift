import Glibc
import Loop

/// Says once that the process is ready, or has started and lacks what only the operator can give: a
/// log line, and a file for whoever supervises it.
///
/// The file appears in one step and holds the ports as a JSON object, `{"admin":1235,"http":1234}`.
/// It goes when the process stops in order.
struct ReadyAnnouncement: Service {
    let name = "ready"
    let context: ProcessContext
    let file: String?

    func run(until stop: StopSignal) async throws {
        let announcing = Task {
            guard await context.readiness.waitUntilStarted() else { return }
            let ports = context.ports.all
            if let file { try Self.write(ports, to: file) }
            var fields: [String: LogValue] = [:]
            for (listener, port) in ports { fields["\(listener)_port"] = .int(port) }
            let lacks = context.readiness.conditions.compactMap { condition in
                condition.standing.reason.map { "\(condition.name): \($0)" }
            }
            if lacks.isEmpty {
                context.log.info("ready", fields)
            } else {
                fields["lacks"] = .string(lacks.joined(separator: "; "))
                context.log.warning("started, not ready", fields)
            }
        }
        let cancelling = stop.onTrigger { announcing.cancel() }
        defer { stop.remove(cancelling) }
        try await announcing.value
        await stop.wait()
        if let file { unlink(file) }
    }

    /// Writes a new file beside the final one and renames it.
    static func write(_ ports: [String: UInt16], to path: String) throws(SystemCallError) {
        var line = JSONLine()
        for (listener, port) in ports.sorted(by: { $0.key < $1.key }) {
            line.add(listener, .int(port))
        }
        let bytes = line.finished()
        let temporary = path + ".new"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .last("open of the ready file") }
        let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        guard count == bytes.count else {
            let failure = SystemCallError.last("write of the ready file")
            close(descriptor)
            throw failure
        }
        close(descriptor)
        guard rename(temporary, path) == 0 else { throw .last("rename of the ready file") }
    }
}
