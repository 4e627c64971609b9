import FoundationEssentials
import Glibc
import Loop
import ServiceKit
import TestKit
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ProcessMainTests {
    private struct Waiting: Service {
        let name = "waiting"

        func run(until stop: StopSignal) async throws {
            await stop.wait()
        }
    }

    private let output = Observed("")
    private let log = LogCollector()

    private func outcome(
        _ arguments: [String],
        _ environment: [String: String] = [:],
        build: ProcessMain.Build? = nil
    ) async -> Int32 {
        await ProcessMain.outcome(
            name: "x",
            program: "x-simulator",
            prefix: "PUSHBUS_X_",
            arguments: arguments,
            environment: environment,
            print: { text in output.update { $0 += text } },
            sink: log.sink,
            signals: .none,
            build: build ?? { reader, context in
                _ = reader.int("PORT", in: 1...9, help: "the port")
                _ = reader.secret("KEY", help: "the key")
                try reader.finish()
                context.stop.trigger()
                return .init([Waiting()])
            }
        )
    }

    @Test("--help lists every setting, --version the version")
    func help() async {
        #expect(await outcome(["--help"]) == 0)
        for name in ["PORT", "KEY", "KEY_FILE", "LOG_LEVEL", "READY_FILE"] {
            #expect(output.value.contains("PUSHBUS_X_\(name)\n"))
        }
        #expect(output.value.contains("the port (1 to 9). Required."))
        #expect(output.value.hasPrefix("x-simulator \(ProcessMain.version)\n"))
        output.update { $0 = "" }
        #expect(await outcome(["--version"]) == 0)
        #expect(output.value == "x-simulator \(ProcessMain.version)\n")
        #expect(await outcome(["--nonsense"]) == 64)
    }

    @Test("--print-config shows values and no secret")
    func printConfig() async {
        let values = ["PUSHBUS_X_PORT": "3", "PUSHBUS_X_KEY": "hush"]
        #expect(await outcome(["--print-config"], values) == 0)
        #expect(output.value.contains("PUSHBUS_X_PORT=3\n"))
        #expect(output.value.contains("PUSHBUS_X_LOG_LEVEL=info\n"))
        #expect(!output.value.contains("hush"))
        #expect(await outcome(["--print-config"], ["PUSHBUS_X_PORT": "30"]) == 78)
    }

    @Test("Bad settings exit with 78, each in a line of its own")
    func badSettings() async {
        let values = ["PUSHBUS_X_PORT": "x", "PUSHBUS_X_PROT": "3", "PUSHBUS_X_LOG_LEVEL": "loud"]
        #expect(await outcome([], values) == 78)
        #expect(log.lines(of: "bad setting").count == 3)
    }

    @Test("A failure to start is told and exits with 1")
    func startFails() async {
        struct PortTaken: Error {}
        let code = await outcome([]) { reader, _ in
            try reader.finish()
            throw PortTaken()
        }
        #expect(code == 1)
        #expect(log.lines(of: "start failed").count == 1)
    }

    @Test("Ready is said once all conditions hold, in the log and in the file")
    func ready() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("ready")
        let context = Observed<ProcessContext?>(nil)
        async let code = outcome([], ["PUSHBUS_X_READY_FILE": file]) { reader, given in
            try reader.finish()
            given.readiness.set("store", .waiting("opening"))
            given.ports.set("http", 1_234)
            context.update { $0 = given }
            return .init([Waiting()])
        }
        let given = try #require(await context.wait { $0 != nil } ?? nil)
        await log.wait(for: "starting")
        #expect(log.lines(of: "ready").isEmpty)
        given.readiness.set("store", .ok)
        await log.wait(for: "ready")
        let content = try String(decoding: Data(contentsOf: URL(filePath: file)), as: UTF8.self)
        #expect(content == "{\"http\":1234}\n")
        given.stop.trigger()
        #expect(await code == 0)
        #expect(access(file, F_OK) != 0)
    }

    @Test("What only the operator can give holds up readiness, not the start")
    func lacking() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("ready")
        let context = Observed<ProcessContext?>(nil)
        async let code = outcome([], ["PUSHBUS_X_READY_FILE": file]) { reader, given in
            try reader.finish()
            given.readiness.set("key", .lacking("no key"))
            context.update { $0 = given }
            return .init([Waiting()])
        }
        let given = try #require(await context.wait { $0 != nil } ?? nil)
        await log.wait(for: "started, not ready")
        #expect(!given.readiness.isReady)
        #expect(access(file, F_OK) == 0)
        #expect(log.lines(of: "ready").isEmpty)
        given.stop.trigger()
        #expect(await code == 0)
    }

    @Test("The process stops when its lifeline ends")
    func lifeline() async throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        let writer = ends[1]
        let environment = ["PUSHBUS_LIFELINE_FD": "\(ends[0])"]
        async let code = outcome([], environment) { reader, _ in
            try reader.finish()
            return .init([Waiting()])
        }
        await log.wait(for: "ready")
        close(writer)
        #expect(await code == 0)
    }
}
