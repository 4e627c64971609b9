import Glibc
import Storage

/// A folder of its own for one test, removed at the end.
struct TemporaryStore {
    let folder: String
    var path: String { folder + "/store.db" }

    init() {
        var template = Array("/tmp/pushbus-storage-XXXXXX".utf8CString)
        template.withUnsafeMutableBufferPointer { buffer in
            if let start = buffer.baseAddress { mkdtemp(start) }
        }
        folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func remove() {
        for suffix in ["", "-wal", "-lock", "-journal", ".partial"] {
            for name in ["store.db", "copy.db"] { unlink("\(folder)/\(name)\(suffix)") }
        }
        unlink(folder + "/acks")
        rmdir(folder)
    }

    static let migrations = [
        Migration(
            number: 1,
            name: "test-1",
            statements: [
                """
                CREATE TABLE item (
                    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, body BLOB
                ) STRICT
                """
            ]
        )
    ]

    func open(
        _ migrations: [Migration] = TemporaryStore.migrations,
        options: SQLiteOptions = SQLiteOptions()
    ) async throws -> SQLiteDatabase {
        try await SQLiteDatabase.open(path: path, migrations: migrations, options: options)
    }

    /// Opens a store, runs the body and cleans up in every case.
    static func with<Value>(
        options: SQLiteOptions = SQLiteOptions(),
        _ body: (TemporaryStore, SQLiteDatabase) async throws -> Value
    ) async throws -> Value {
        let store = TemporaryStore()
        defer { store.remove() }
        let database = try await store.open(options: options)
        do {
            let value = try await body(store, database)
            await database.close()
            return value
        } catch {
            await database.close()
            throw error
        }
    }
}

extension SQLiteDatabase {
    func insert(_ name: String, body: [UInt8]? = nil, rows: Int = 1) async throws {
        try await write(rows: rows) {
            try $0.execute(
                "INSERT INTO item (name, body) VALUES ($1, $2)",
                [.text(name), .blob(orNull: body)]
            )
        }
    }

    func names() async throws -> [String] {
        try await read {
            try $0.query("SELECT name FROM item ORDER BY id") { $0.text(0) }
        }
    }

    func pragma(_ name: String) async throws -> SQLValue? {
        try await read { try $0.pragma(name) }
    }
}

/// The bytes of a file, nil when it is not there.
func contents(_ path: String) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65536)
    while true {
        let count = read(descriptor, &chunk, chunk.count)
        guard count > 0 else { return bytes }
        bytes.append(contentsOf: chunk[..<count])
    }
}

/// The size of a file in bytes, without opening it; nil when it is not there.
func size(_ path: String) -> Int? {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : nil
}

func write(_ bytes: [UInt8], to path: String) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    _ = Glibc.write(descriptor, bytes, bytes.count)
    close(descriptor)
}

func kind(_ body: () async throws -> Void) async -> StorageError.Kind? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? StorageError)?.kind
    }
}
