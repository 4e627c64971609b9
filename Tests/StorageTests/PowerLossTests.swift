import Glibc
import Storage
import Testing

/// The power fails at arbitrary points of what SQLite writes: what had been answered is there.
@Suite struct PowerLossTests {
    /// A store that wrote some rows, its files before and after, and how long the write-ahead log was
    /// when each row was answered.
    private struct Recording {
        var before: [UInt8] = []
        var log: [UInt8] = []
        var after: [UInt8] = []
        var answered: [(name: String, logBytes: Int)] = []
    }

    private static let options: SQLiteOptions = {
        var options = SQLiteOptions()
        options.checkpointInterval = .seconds(3600)
        return options
    }()

    private func record() async throws -> Recording {
        try await TemporaryStore.with(options: Self.options) { store, database in
            var recording = Recording()
            recording.before = try #require(contents(store.path))
            for number in 0..<40 {
                let name = "n\(number)"
                try await database.insert(
                    name,
                    body: [UInt8](repeating: UInt8(number), count: 200 + number * 150)
                )
                let bytes = try #require(contents(store.path + "-wal")).count
                recording.answered.append((name, bytes))
            }
            recording.log = try #require(contents(store.path + "-wal"))
            #expect(try await database.checkpoint())
            recording.after = try #require(contents(store.path))
            return recording
        }
    }

    /// Opens a store of these files and returns its rows.
    private func reopen(_ file: [UInt8], _ log: [UInt8]) async throws -> [String] {
        let store = TemporaryStore()
        defer { store.remove() }
        write(file, to: store.path)
        write(log, to: store.path + "-wal")
        let database = try await store.open()
        let check = try await database.pragma("integrity_check")
        #expect(check == .text("ok"))
        let names = try await database.names()
        await database.close()
        return names
    }

    @Test func aCutLogHoldsEveryAnsweredRow() async throws {
        let recording = try await record()
        let all = recording.answered.map(\.name)
        for (index, (_, bytes)) in recording.answered.enumerated() {
            let next = index + 1 < all.count ? recording.answered[index + 1].logBytes : bytes
            let between = bytes + (next - bytes) / 3
            for cut in [bytes, between, next - 1] where cut >= bytes {
                let names = try await reopen(recording.before, Array(recording.log[..<cut]))
                #expect(names == Array(all[...index]), "cut at \(cut)")
            }
        }
    }

    @Test func tornBytesAfterTheCutAreNoRows() async throws {
        let recording = try await record()
        let all = recording.answered.map(\.name)
        for index in stride(from: 0, to: all.count - 1, by: 7) {
            let cut = recording.answered[index].logBytes
            // Blocks that were allocated and never written, and half a frame of the next row.
            for tail in [
                [UInt8](repeating: 0, count: 9000), Array(recording.log[cut...].prefix(700)),
            ] {
                let log = recording.log[..<cut] + tail
                let names = try await reopen(recording.before, Array(log))
                #expect(names == Array(all[...index]))
            }
        }
    }

    @Test func aCheckpointCutAnywhereLosesNothing() async throws {
        let recording = try await record()
        let all = recording.answered.map(\.name)
        let page = 4096
        for cut in stride(from: 0, through: recording.after.count, by: page * 3 + 1000) {
            // Pages up to the cut have reached the file, those behind it have not.
            var file = Array(recording.after[..<cut])
            if file.count < recording.before.count { file += recording.before[file.count...] }
            #expect(try await reopen(file, recording.log) == all, "cut at \(cut)")
        }
    }
}
