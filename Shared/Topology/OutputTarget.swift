import Glibc
import Loop

/// Where one process's output goes: a descriptor for the child, and a reader when lines are
/// prefixed.
struct OutputTarget {
    /// The descriptor the child writes to; nil when it keeps the supervisor's.
    let descriptor: Int32?
    private let reading: Int32?

    init(_ plan: ProcessPlan) throws {
        switch plan.output {
        case .inherited:
            descriptor = nil
            reading = nil
        case .file(let path):
            let file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            guard file >= 0 else {
                throw TopologyError(
                    "\(path) cannot be written: \(String(cString: strerror(errno)))"
                )
            }
            descriptor = file
            reading = nil
        case .prefixed:
            let ends = try PipeEnds()
            descriptor = ends.writing
            reading = ends.reading
        }
    }

    /// Closes the end that is the child's, in this process.
    func closeChildEnd() {
        if let descriptor { close(descriptor) }
    }

    /// Copies lines to standard error, each after the name, until the child's end closes.
    func startReading(name: String) throws {
        guard let reading else { return }
        try DetachedThread.start(name: "out \(name)") { copyLines(from: reading, prefix: name) }
    }
}

/// Reads to the end; a line of more than 64 KiB is broken up.
private func copyLines(from descriptor: Int32, prefix: String) {
    let head = Array("\(prefix.padded(to: 12)) | ".utf8)
    var buffer = [UInt8](repeating: 0, count: 65_536)
    var line: [UInt8] = []
    while true {
        let count = read(descriptor, &buffer, buffer.count)
        if count < 0 && errno == EINTR { continue }
        guard count > 0 else { break }
        for byte in buffer[..<count] {
            line.append(byte)
            if byte == UInt8(ascii: "\n") || line.count == buffer.count {
                emit(head + line)
                line.removeAll(keepingCapacity: true)
            }
        }
    }
    if !line.isEmpty { emit(head + line + [UInt8(ascii: "\n")]) }
    close(descriptor)
}

private func emit(_ bytes: [UInt8]) {
    var done = 0
    while done < bytes.count {
        let count = bytes[done...].withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
        if count < 0 && errno != EINTR { return }
        done += max(0, count)
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
