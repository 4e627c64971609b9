import FoundationEssentials
import Glibc

/// A new directory in TMPDIR or /tmp; stores in it are as durable and as fast as that file system.
enum BenchDirectory {
    static func make() throws -> String {
        let base = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
        var template = Array("\(base)/pushbus-bench-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw BenchFailure("cannot make a directory in \(base)")
        }
        return String(decoding: template.dropLast().map(UInt8.init), as: UTF8.self)
    }

    /// The middle time of writing and syncing 64 KiB to a file there, in milliseconds.
    static func syncMilliseconds(in directory: String) throws -> Double {
        let path = "\(directory)/sync"
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw BenchFailure("\(path) cannot be made") }
        defer {
            close(file)
            unlink(path)
        }
        let block = [UInt8](repeating: 7, count: 65_536)
        var times: [Double] = []
        for index in 0..<50 {
            let start = ContinuousClock.now
            let written = pwrite(file, block, block.count, off_t(index * block.count))
            guard written == block.count, fdatasync(file) == 0 else {
                throw BenchFailure("\(path) cannot be written")
            }
            times.append((ContinuousClock.now - start) / .milliseconds(1))
        }
        return BenchReport.median(times)
    }
}
