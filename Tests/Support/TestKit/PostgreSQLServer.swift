import FoundationEssentials
import Glibc
import Loop

/// A PostgreSQL server of its own in a temporary directory, reached over a Unix socket in it.
///
/// It runs as another user where the tests run as root, with fsync on as in production. It is stopped
/// by a watcher that holds the reading end of a pipe, so it ends with this process, however that does.
package final class PostgreSQLServer: Sendable {
    private struct Running {
        /// The watcher stops the server when this end of its pipe is closed.
        var lifeline: Int32
        var watcher: pid_t
    }

    private let directory: TemporaryDirectory
    private let running = Locked<Running?>(nil)
    private let databases = Locked(0)
    private let databasesOfFolders = Locked<[String: String]>([:])
    private let settings: String

    /// The server that the tests of this process share; started at the first use.
    package static let shared = Result { try PostgreSQLServer() }

    /// Makes a cluster, which takes about a second, and starts it; `settings` are further lines of
    /// postgresql.conf.
    package init(settings: String = "") throws {
        self.settings = settings
        directory = try TemporaryDirectory()
        if let user = Self.user {
            guard chown(directory.path, user.id, user.group) == 0 else {
                throw Failure("the temporary directory cannot be given to \(user.name)")
            }
        }
        try run(
            """
            mkdir -m 700 '\(data)' '\(sockets)'
            '\(try Self.program("initdb"))' -D '\(data)' -U pushbus -A trust -E UTF8 --locale=C --no-sync >/dev/null
            cat >>'\(data)/postgresql.conf' <<'END'
            listen_addresses = ''
            unix_socket_directories = '\(sockets)'
            fsync = on
            shared_buffers = 64MB
            max_connections = 200
            deadlock_timeout = 20ms
            log_min_messages = fatal
            \(settings)
            END
            """
        )
        try start()
    }

    deinit { stop() }

    private var data: String { directory.file("data") }
    private var sockets: String { directory.file("run") }

    /// A fresh database and the URL of it.
    package func database() throws -> String {
        let name = databases.withLock { count in
            count += 1
            return "test\(count)"
        }
        try sql("CREATE DATABASE \(name)")
        return url(of: name)
    }

    /// The URL of the database that stands for a folder, made when it is asked for the first time.
    package func database(for folder: String) throws -> String {
        if let url = databasesOfFolders.withLock({ $0[folder] }) { return url }
        let url = try database()
        databasesOfFolders.withLock { $0[folder] = url }
        return url
    }

    /// The URL of a database.
    package func url(of name: String) -> String {
        let host = sockets.replacing("/", with: "%2F")
        return "postgresql://pushbus@\(host)/\(name)"
    }

    /// Runs SQL as the superuser and returns what it printed, one row a line, columns split by `|`.
    @discardableResult
    package func sql(_ text: String, in database: String = "postgres") throws -> String {
        try run(
            "'\(try Self.program("psql"))' -X -q -t -A -v ON_ERROR_STOP=1 -h '\(sockets)' -U pushbus "
                + "-d '\(database)' <<'END'\n\(text)\nEND"
        )
    }

    /// Starts the server; returns when it takes connections.
    package func start() throws {
        let pipe = try PipeEnds()
        let watcher = try spawn(
            """
            trap : INT TERM HUP
            '\(try Self.program("pg_ctl"))' -D '\(data)' -w -t 60 -l '\(directory.file("log"))' start >/dev/null 2>&1
            echo started
            word=$(cat)
            '\(try Self.program("pg_ctl"))' -D '\(data)' -m immediate -w stop >/dev/null 2>&1 || true
            if [ "$word" != keep ]; then rm -rf '\(directory.path)'; fi
            """,
            input: pipe.reading,
            closesOutputEarly: true
        )
        close(pipe.reading)
        running.withLock { $0 = Running(lifeline: pipe.writing, watcher: watcher) }
        try sql("SELECT 1")
    }

    /// Stops the server as a power cut would; what was committed stays.
    package func stop() {
        guard let running = running.withLock({ $0.take() }) else { return }
        _ = write(running.lifeline, "keep", 4)
        close(running.lifeline)
        var status: Int32 = 0
        while waitpid(running.watcher, &status, 0) < 0 && errno == EINTR {}
    }

    /// Stops the whole server for a while: the postmaster and all it started.
    package func send(_ signal: Int32) throws {
        let text = try String(contentsOfFile: data + "/postmaster.pid", encoding: .utf8)
        guard let line = text.split(separator: "\n").first, let postmaster = pid_t(line) else {
            throw Failure("the server has no pid file")
        }
        let children =
            (try? String(
                contentsOfFile: "/proc/\(postmaster)/task/\(postmaster)/children",
                encoding: .utf8
            )) ?? ""
        for process in children.split(separator: " ").compactMap({ pid_t($0) }) + [postmaster] {
            kill(process, signal)
        }
    }

    /// A step of the server's life failed.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        init(_ description: String) { self.description = description }
    }
}

extension PostgreSQLServer {
    private struct User {
        var name: String
        var id: uid_t
        var group: gid_t
    }

    /// Whom the server runs as, since it refuses root; nil where the tests are not run by root.
    private static var user: User? {
        guard getuid() == 0 else { return nil }
        for name in ["postgres", "nobody"] {
            if let entry = getpwnam(name) {
                return User(name: name, id: entry.pointee.pw_uid, group: entry.pointee.pw_gid)
            }
        }
        return nil
    }

    /// The path of one of PostgreSQL's programs: beside `pg_config`'s answer, in PATH, or where Debian
    /// puts the newest version.
    private static func program(_ name: String) throws -> String {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let versions =
            (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
        let folders =
            versions.sorted { (Int($0) ?? 0) > (Int($1) ?? 0) }.map {
                "/usr/lib/postgresql/\($0)/bin"
            }
            + path.split(separator: ":").map(String.init)
        for folder in folders where access(folder + "/" + name, X_OK) == 0 {
            return folder + "/" + name
        }
        throw Failure("there is no \(name); script/bootstrap --tests installs PostgreSQL")
    }

    /// Runs a shell script as the server's user and returns what it printed.
    @discardableResult
    private func run(_ script: String) throws -> String {
        let (text, status) = try output(of: script)
        guard status == 0 else { throw Failure("status \(status): \(text)") }
        return String(text.last == "\n" ? text.dropLast() : text[...])
    }

    private func output(of script: String) throws -> (String, Int32) {
        let pipe = try PipeEnds()
        let child = try spawn(script, output: pipe.writing)
        close(pipe.writing)
        let text = Self.readAll(pipe.reading)
        close(pipe.reading)
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0 && errno == EINTR {}
        return (text, status)
    }

    /// Starts a shell as the server's user; with `closesOutputEarly` it returns once the script printed
    /// its first line.
    private func spawn(
        _ script: String,
        input: Int32? = nil,
        output: Int32? = nil,
        closesOutputEarly: Bool = false
    ) throws -> pid_t {
        let announcements = closesOutputEarly ? try PipeEnds() : nil
        defer { if let announcements { close(announcements.reading) } }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let input {
            posix_spawn_file_actions_adddup2(&actions, input, 0)
        } else {
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        if let output = output ?? announcements?.writing {
            posix_spawn_file_actions_adddup2(&actions, output, 1)
            posix_spawn_file_actions_adddup2(&actions, output, 2)
        }
        SpawnActions.closeAll(from: 3, in: &actions)
        var words = ["/bin/sh", "-e", "-c", script]
        if let user = Self.user {
            words =
                [
                    "/usr/bin/setpriv", "--reuid=\(user.id)", "--regid=\(user.group)",
                    "--clear-groups",
                ]
                + words
        }
        var arguments = words.map { strdup($0) } + [nil]
        var environment = [strdup("PATH=/usr/bin:/bin"), strdup("LC_ALL=C"), nil]
        defer { for copy in arguments + environment { free(copy) } }
        var child: pid_t = 0
        let result = posix_spawn(&child, words[0], &actions, nil, &arguments, &environment)
        if let announcements { close(announcements.writing) }
        guard result == 0 else {
            throw Failure("\(words[0]): \(String(cString: strerror(result)))")
        }
        if let announcements {
            var byte: UInt8 = 0
            while read(announcements.reading, &byte, 1) < 0 && errno == EINTR {}
        }
        return child
    }

    private static func readAll(_ descriptor: Int32) -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
