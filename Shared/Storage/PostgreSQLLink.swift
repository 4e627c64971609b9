import CPostgreSQL
import Glibc
import ServiceKit

/// One libpq connection, used on one thread; every wait on its socket has a deadline.
final class PostgreSQLLink {
    private let handle: OpaquePointer
    /// Set once the connection cannot be used any more.
    private(set) var isLost = false

    private static let keepalives = [
        ("keepalives", "1"), ("keepalives_idle", "10"), ("keepalives_interval", "5"),
        ("keepalives_count", "3"), ("tcp_user_timeout", "15000"),
    ]

    /// Connects; what the URL says goes before the keepalives set here.
    init(
        to url: PostgreSQLURL,
        applicationName: String,
        within limit: Duration
    ) throws(StorageError) {
        let text = url.secret.withBytes { String(decoding: $0, as: UTF8.self) }
        let settings =
            Self.keepalives + [("fallback_application_name", applicationName), ("dbname", text)]
        let started = Self.start(settings)
        guard let started else {
            throw StorageError(.overloaded, "connect to \(url): no memory for a connection")
        }
        handle = started
        PQsetNoticeProcessor(started, { _, _ in }, nil)
        let end = Self.now + limit
        var waitsFor = PGRES_POLLING_WRITING
        while PQstatus(started) != CONNECTION_BAD {
            let events = Int16(waitsFor == PGRES_POLLING_READING ? POLLIN : POLLOUT)
            guard Self.wait(for: events, on: PQsocket(started), until: end) else {
                isLost = true
                throw StorageError(
                    .connectionLost,
                    "connect to \(url): the server did not answer within \(limit); check that it runs"
                )
            }
            waitsFor = PQconnectPoll(started)
            if waitsFor == PGRES_POLLING_OK { break }
            if waitsFor == PGRES_POLLING_FAILED { break }
        }
        guard PQstatus(started) == CONNECTION_OK, PQsetnonblocking(started, 1) == 0 else {
            isLost = true
            throw refusal(of: url)
        }
    }

    deinit { PQfinish(handle) }

    /// Whether a transaction is open and none of its statements failed.
    var isInTransaction: Bool { PQtransactionStatus(handle) == PQTRANS_INTRANS }

    /// Whether a transaction is open, failed or not.
    var hasTransaction: Bool {
        isInTransaction || PQtransactionStatus(handle) == PQTRANS_INERROR
    }

    /// Sends statements without parameters, separated by semicolons, and returns the last answer.
    func run(script: String, within limit: Duration) throws(StorageError) -> PostgreSQLResult {
        try checkUsable()
        guard PQsendQuery(handle, script) == 1 else { throw lost("send a script") }
        return try answer("run a script", within: limit)
    }

    /// Has the server prepare a statement; `types` are object identifiers, 0 where it infers one.
    func prepare(
        _ name: String,
        _ sql: String,
        types: [UInt32],
        within limit: Duration
    ) throws(StorageError) {
        try checkUsable()
        let sent = PQsendPrepare(handle, name, sql, Int32(types.count), types)
        guard sent == 1 else { throw lost("prepare a statement") }
        _ = try answer("prepare a statement", within: limit)
    }

    /// Runs a prepared statement with binary parameters; the answer is binary too.
    func run(
        prepared name: String,
        _ parameters: PostgreSQLParameters,
        within limit: Duration
    ) throws(StorageError) -> PostgreSQLResult {
        try checkUsable()
        let count = parameters.lengths.count
        let formats = [Int32](repeating: 1, count: count)
        // An empty array has no address, and NULL would stand for the value NULL.
        let bytes = parameters.bytes.isEmpty ? [0] : parameters.bytes
        let sent = bytes.withUnsafeBytes { buffer in
            let start = buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
            let values = parameters.offsets.map { offset in
                offset.flatMap { start?.advanced(by: $0) }
            }
            return PQsendQueryPrepared(
                handle,
                name,
                Int32(count),
                values,
                parameters.lengths,
                formats,
                1
            )
        }
        guard sent == 1 else { throw lost("send a statement") }
        return try answer("run a statement", within: limit)
    }

    private func checkUsable() throws(StorageError) {
        if isLost { throw lost("use the connection") }
    }

    /// The last answer to what was sent; the first error wins.
    private func answer(
        _ action: String,
        within limit: Duration
    ) throws(StorageError) -> PostgreSQLResult {
        let end = Self.now + limit
        var last: PostgreSQLResult?
        var failure: StorageError?
        while true {
            try collect(action, until: end)
            guard let next = PQgetResult(handle) else { break }
            let result = PostgreSQLResult(next)
            let status = PQresultStatus(next)
            if status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK
                && status != PGRES_EMPTY_QUERY
            {
                failure = failure ?? error(in: next, during: action)
            }
            last = result
        }
        if PQstatus(handle) == CONNECTION_BAD {
            isLost = true
            throw failure?.kind == .connectionLost ? failure ?? lost(action) : lost(action)
        }
        if let failure { throw failure }
        guard let last else { throw lost(action) }
        return last
    }

    /// Waits until the next answer can be taken without blocking.
    private func collect(_ action: String, until end: MonotonicInstant) throws(StorageError) {
        while true {
            let flushed = PQflush(handle)
            guard flushed >= 0 else { throw lost(action) }
            if flushed == 0 && PQisBusy(handle) == 0 { return }
            let events = Int16(flushed == 1 ? POLLIN | POLLOUT : POLLIN)
            guard Self.wait(for: events, on: PQsocket(handle), until: end) else {
                isLost = true
                throw StorageError(
                    .connectionLost,
                    "\(action): the server did not answer in time; check that it runs and is reachable"
                )
            }
            guard PQconsumeInput(handle) == 1 else { throw lost(action) }
        }
    }

    private func error(in result: OpaquePointer, during action: String) -> StorageError {
        func field(_ code: UInt8) -> String? {
            PQresultErrorField(result, Int32(code)).map { String(cString: $0) }
        }
        // PG_DIAG_SQLSTATE, _MESSAGE_PRIMARY and _CONSTRAINT_NAME are character macros.
        guard let state = field(UInt8(ascii: "C")) else { return lost(action) }
        return .postgreSQL(
            state,
            message: field(UInt8(ascii: "M")) ?? "",
            constraint: field(UInt8(ascii: "n")),
            during: action
        )
    }

    private func lost(_ action: String) -> StorageError {
        if PQstatus(handle) == CONNECTION_BAD { isLost = true }
        return StorageError(
            .connectionLost,
            "\(action): the connection to the database is gone; it is made again by itself"
        )
    }

    /// What the server or the system said to the attempt to connect; libpq's text has no password.
    private func refusal(of url: PostgreSQLURL) -> StorageError {
        let text = String(cString: PQerrorMessage(handle))
        let line = text.split(separator: "\n").joined(separator: "; ")
        let refusals = [
            "authentication failed", "no pg_hba.conf entry", "does not exist", "certificate",
        ]
        let kind: StorageError.Kind =
            refusals.contains { line.contains($0) } ? .cannotOpen : .connectionLost
        return StorageError(kind, "connect to \(url): \(line)")
    }
}

extension PostgreSQLLink {
    private static func start(_ settings: [(String, String)]) -> OpaquePointer? {
        let keywords = settings.map { strdup($0.0) }
        let values = settings.map { strdup($0.1) }
        defer {
            for copy in keywords { free(copy) }
            for copy in values {
                // One of them is the URL with its password.
                if let copy { explicit_bzero(copy, strlen(copy)) }
                free(copy)
            }
        }
        let names = keywords.map { UnsafePointer($0) } + [nil]
        let texts = values.map { UnsafePointer($0) } + [nil]
        return PQconnectStartParams(names, texts, 1)
    }

    private static var now: MonotonicInstant { SystemTime().monotonic }

    /// Waits for events on a socket; false when the time has passed.
    private static func wait(for events: Int16, on socket: Int32, until end: MonotonicInstant)
        -> Bool
    {
        while true {
            let rest = now.duration(to: end).clampedNanoseconds
            guard rest > 0 else { return false }
            var entry = pollfd(fd: socket, events: events, revents: 0)
            let ready = poll(&entry, 1, Int32(min(rest / 1_000_000 + 1, 60_000)))
            if ready > 0 { return true }
            if ready < 0 && errno != EINTR { return true }
        }
    }
}
