import FoundationEssentials
import Glibc
import Loop
import ServiceKit
import TestKit
import Testing
import Topology

@Suite(.timeLimit(.minutes(1)))
struct SupervisorTests {
    private let directory: TemporaryDirectory
    private let log = LogCollector()
    private let supervisor: Supervisor

    init() throws {
        directory = try TemporaryDirectory()
        supervisor = try Supervisor(log: log.log())
    }

    /// A shell that says it is ready and runs until it is told to stop.
    private func shell(
        _ name: String,
        _ script: String = "wait",
        ignoresStop: Bool = false,
        restart: RestartPolicy = .never
    ) -> ProcessPlan {
        let ready = directory.file("\(name).ready")
        let atStop = ignoresStop ? "" : "echo \(name) stops >> \(directory.file("order")); exit 0"
        return ProcessPlan(
            name: name,
            executable: "/bin/sh",
            arguments: [
                "-c",
                """
                trap '\(atStop)' TERM
                [ -p \(directory.file("\(name).child")) ] && out=\(directory.file("\(name).child"))
                sleep 1000 > "${out:-/dev/null}" &
                echo '{"http":4711}' > \(ready).new; mv \(ready).new \(ready)
                \(script)
                """,
            ],
            readyFile: ready,
            output: .file(directory.file("\(name).log")),
            restart: restart
        )
    }

    private func content(_ name: String) throws -> String {
        try String(
            decoding: Data(contentsOf: URL(filePath: directory.file(name))),
            as: UTF8.self
        )
    }

    @Test("All start, announce their ports and stop in reverse order with what they started")
    func startAndStop() async throws {
        // b's child holds the writing end until it dies.
        let fifo = directory.file("b.child")
        try #require(mkfifo(fifo, 0o600) == 0)
        let reading = open(fifo, O_RDONLY | O_NONBLOCK)
        defer { close(reading) }
        try supervisor.add([shell("a"), shell("b"), shell("c")])
        try supervisor.startAll()
        try await supervisor.waitUntilAllReady(within: .seconds(20))
        #expect(supervisor.ports(of: "b") == ["http": 4_711])
        await supervisor.stopAll()
        #expect(try content("order") == "c stops\nb stops\na stops\n")
        #expect(supervisor.lastStatus(of: "a") == .exited(0))
        #expect(supervisor.processID(of: "a") == nil)
        // The child was killed with the group: nobody writes any more.
        let thread = try SerialThread(name: "fifo")
        let rest = try await thread.run {
            _ = fcntl(reading, F_SETFL, 0)
            var byte: UInt8 = 0
            return read(reading, &byte, 1)
        }
        thread.stop()
        #expect(rest == 0)
        #expect(throws: TopologyError.self) { try supervisor.start("a") }
        await supervisor.stopAll()
    }

    @Test("A process that ignores SIGTERM is killed when its grace is over")
    func stubborn() async throws {
        try supervisor.add([shell("a", "wait; wait", ignoresStop: true)])
        try supervisor.startAll()
        #expect(await supervisor.waitUntilReady("a"))
        #expect(await supervisor.stop("a", grace: .milliseconds(200)) == .killed(SIGKILL))
        await supervisor.stopAll()
    }

    @Test("A killed process comes back when its policy says so, and is ready anew")
    func restart() async throws {
        let policy = RestartPolicy.always(Backoff(base: .milliseconds(1), cap: .milliseconds(5)))
        try supervisor.add([shell("a", restart: policy)])
        try supervisor.startAll()
        #expect(await supervisor.waitUntilReady("a"))
        let first = supervisor.processID(of: "a")
        for _ in 0..<3 {
            #expect(await supervisor.kill("a") == .killed(SIGKILL))
            #expect(await supervisor.waitUntilReady("a"))
        }
        #expect(supervisor.starts(of: "a") == 4)
        #expect(supervisor.processID(of: "a") != first)
        await supervisor.stopAll()
        #expect(supervisor.starts(of: "a") == 4)
    }

    @Test("One with bad settings is not started again, whatever its policy")
    func badSettings() async throws {
        let policy = RestartPolicy.always(Backoff(base: .milliseconds(1), cap: .milliseconds(5)))
        var plan = shell("a", restart: policy)
        plan.arguments = ["-c", "exit 78"]
        try supervisor.add([plan])
        try supervisor.startAll()
        await #expect(throws: TopologyError.self) {
            try await supervisor.waitUntilAllReady(within: .seconds(30))
        }
        #expect(supervisor.starts(of: "a") == 1)
        await supervisor.stopAll()
    }

    @Test("One that ends before it is ready is named")
    func notReady() async throws {
        var plan = shell("a")
        plan.arguments = ["-c", "echo oops; exit 7"]
        try supervisor.add([plan, shell("b")])
        try supervisor.startAll()
        let error = await #expect(throws: TopologyError.self) {
            try await supervisor.waitUntilAllReady(within: .seconds(30))
        }
        let place = directory.file("a.log")
        #expect(error?.description == "a ended before it was ready (exit code 7); see \(place)")
        #expect(await supervisor.waitForExit("a") == .exited(7))
        #expect(try content("a.log") == "oops\n")
        await supervisor.stopAll()
    }

    @Test("A missing program, a second name and an unknown one are refused")
    func refused() async throws {
        try supervisor.add([ProcessPlan(name: "a", executable: directory.file("none"))])
        #expect(throws: TopologyError.self) { try supervisor.startAll() }
        #expect(throws: TopologyError.self) { try supervisor.add([shell("a")]) }
        #expect(throws: TopologyError.self) { try supervisor.start("b") }
        #expect(await supervisor.waitForExit("b") == nil)
        await supervisor.stopAll()
    }

    @Test("The child has no blocked or ignored signals")
    func signals() async throws {
        signal(SIGPIPE, SIG_IGN)
        let plan = ProcessPlan(
            name: "a",
            executable: "/bin/grep",
            arguments: ["-E", "SigBlk|SigIgn", "/proc/self/status"],
            output: .file(directory.file("a.log"))
        )
        try supervisor.add([plan])
        try supervisor.startAll()
        #expect(await supervisor.waitForExit("a") == .exited(0))
        let lines = try content("a.log").split(separator: "\n")
        #expect(lines.count == 2)
        for line in lines {
            let mask = try #require(UInt64(line.suffix(16), radix: 16))
            // Signals 32 and 33 belong to the C library.
            #expect(mask & 0x7FFF_FFFF == 0, "\(line)")
        }
        await supervisor.stopAll()
    }

    @Test("The child has its variables, its own group and a lifeline, and nothing else")
    func surroundings() async throws {
        var plan = shell("a")
        plan.arguments = [
            "-c",
            "echo \"$OWN\"; ls /proc/$$/fd; echo '{}' > \(directory.file("a.ready")); read -r x <&3",
        ]
        plan.environment = ["OWN": "own value"]
        try supervisor.add([plan])
        try supervisor.startAll()
        #expect(await supervisor.waitUntilReady("a"))
        let pid = try #require(supervisor.processID(of: "a"))
        #expect(getpgid(pid) == pid)
        await supervisor.stopAll()
        #expect(try content("a.log") == "own value\n0\n1\n2\n3\n")
    }
}
