import Glibc
import RegistrationCore
import ServiceKit

/// The file beside a store that remembers the store's generation, so that a restored copy is
/// recognised: a number in decimal, mode 0600.
struct GenerationFile {
    /// Why the file cannot be used.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let path: String

    // Neither names its type of error, a ``Failure``: the optimizer of Swift 6.3.1 crashes on an
    // asynchronous function in which an error of one type becomes one of another.

    /// Nil when there is no such file.
    @inline(never)
    func read() throws -> Int64? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw failure("cannot be opened", path)
        }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 32)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        guard let number = Int64(text.prefix { $0 != "\n" }), number >= 0 else {
            throw Failure(
                description: "\(path) does not hold a number: remove it, and all sessions end"
            )
        }
        return number
    }

    /// Replaces the file in one step; it is on disk when this returns.
    @inline(never)
    func write(_ number: Int64) throws {
        do {
            try DurableFile.replace(path, with: Array("\(number)\n".utf8))
        } catch {
            throw Failure(description: "\(error)")
        }
    }

    private func failure(_ what: String, _ path: String) -> Failure {
        Failure(description: "\(path) \(what): \(String(cString: strerror(errno)))")
    }
}

/// Recognises a restored store at the start of the process.
enum StoreStart {
    /// Records the start; a restored store loses all sessions and counts on far above its old numbers.
    static func begin(
        _ store: any GenerationStore,
        _ file: GenerationFile,
        log: Log
    ) async throws {
        let recorded = try file.read()
        let generation = try await store.generation()
        // A crash between the two writes below must not look like a restoration.
        if recorded == nil, generation.number == 0 { try file.write(0) }
        let anew = generation.isRestored(recorded: recorded)
        let next = generation.next(recorded: recorded)
        let ended = try await store.begin(generation: next, anew: anew)
        try file.write(next)
        if anew {
            log.warning(
                "store restored: all sessions have ended, phones sign in again",
                ["sessions": .int(ended)]
            )
        }
    }
}
