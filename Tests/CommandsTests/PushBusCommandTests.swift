import Commands
import Contracts
import FoundationEssentials
import ServiceKit
import TestKit
import Testing
import Topology

@testable import pushbus

@Suite struct PushBusCommandTests {
    private let now = UnixMilliseconds(1_769_860_800_123)

    private func request(_ words: [String]) throws -> EventPublish {
        try PublishCommand.request(
            Arguments(words, of: PublishCommand.command),
            now: now,
            random: .seeded(1)
        )
    }

    @Test func aPairingCodeNamesServerAndCode() {
        let answer = PairingCreateAnswer(
            code: Password("a-b_c"),
            serverURL: "https://push.example.org:8443/x y",
            expiresAt: UnixSeconds(1)
        )
        #expect(
            PairCommand.uri(of: answer)
                == "pushbus://pair?server=https%3A%2F%2Fpush.example.org%3A8443%2Fx%20y&code=a-b_c"
        )
    }

    @Test func aTriggerIsACloudEvent() throws {
        let request = try request([
            "--trigger", "--rule", "cpu", "--server", "web-1", "--rule-name", "CPU high",
        ])
        #expect(!request.isBatch)
        let event = try #require(request.events.first)
        #expect(event["specversion"] == .string("1.0"))
        #expect(event["type"] == .string("org.pushbus.alert.triggered.v1"))
        #expect(event["source"] == .string("pushbus/cli"))
        #expect(event["time"] == .string("2026-01-31T12:00:00.123Z"))
        #expect(
            event["data"]
                == .object([
                    "rule_id": .string("cpu"), "rule_name": .string("CPU high"),
                    "server_id": .string("web-1"), "server_name": .string("web-1"),
                    "source_address": .string(""),
                    "started_at": .string("2026-01-31T12:00:00.123Z"),
                ])
        )
        #expect(event["expirytime"] == nil)
    }

    @Test func aRecoveryNamesItsCycle() throws {
        let words = ["--resolve", "--rule", "cpu", "--server", "web-1", "--id", "7"]
        #expect(throws: UsageError.self) { try request(words) }
        let event = try request(words + ["--started-at", "2026-01-31T11:00:00Z"]).events.first
        #expect(event?["id"] == .string("7"))
        #expect(event?["type"] == .string("org.pushbus.alert.resolved.v1"))
        #expect(event?["data"]?["started_at"] == .string("2026-01-31T11:00:00Z"))
    }

    @Test func anIdOfOnesOwnCanBePublishedAgain() throws {
        let words = [
            "--trigger", "--rule", "cpu", "--server", "web-1", "--id", "7",
            "--started-at", "2026-01-31T11:00:00Z",
        ]
        let again = try PublishCommand.request(
            Arguments(words, of: PublishCommand.command),
            now: UnixMilliseconds(now.milliseconds + 5000),
            random: .seeded(2)
        )
        #expect(try request(words).events == again.events)
    }

    @Test(arguments: [
        [], ["--trigger", "--resolve"], ["file", "--trigger"], ["--trigger", "--rule", "cpu"],
    ]) func whatIsToBePublishedMustBeClear(words: [String]) {
        #expect(throws: UsageError.self) { try request(words) }
    }

    @Test func filesHoldAnEventOrABatch() throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("events.json")
        for (text, count, isBatch) in [("{\"id\":\"1\"}", 1, false), ("[{},{}]", 2, true)] {
            try write(text, to: file)
            let request = try request([file])
            #expect(request.events.count == count)
            #expect(request.isBatch == isBatch)
        }
        try write("nonsense", to: file)
        let failure = #expect(throws: CommandFailure.self) { try request([file]) }
        #expect(failure?.exitCode == ExitCode.badInput)
        #expect(throws: CommandFailure.self) { try request([directory.file("absent")]) }
    }

    private func write(_ text: String, to path: String) throws {
        try text.write(toFile: path, atomically: true, encoding: .utf8)
    }

    @Test func anAnswerIsALineAndAnExitCode() throws {
        let id = try #require(EventID("11111111-1111-4111-8111-111111111111"))
        let answer = EventPublishAnswer(results: [
            .init(.accepted, eventID: id),
            .init(.invalid, pointer: "/data/rule_id", reason: "is missing"),
        ])
        #expect(
            PublishCommand.text(of: answer)
                == "accepted \(id)\ninvalid at /data/rule_id: is missing\n"
        )
        let codes: [(PublishStatus, Int32)] = [
            (.accepted, 0), (.duplicate, 0), (.conflict, 1), (.invalid, 65), (.retryAfter, 69),
        ]
        for (status, code) in codes {
            let answer = EventPublishAnswer(results: [.init(.accepted), .init(status)])
            #expect(PublishCommand.exitCode(of: answer) == code)
        }
    }

    @Test func receiptFilters() throws {
        let id = "11111111-1111-4111-8111-111111111111"
        func query(_ words: [String]) throws -> ReceiptQuery {
            try ReceiptsCommand.query(Arguments(words, of: ReceiptsCommand.command))
        }
        let all = try query(["--event", id, "--installation", "phone-1", "--state", "expired"])
        #expect(all.eventID?.description == id)
        #expect(all.installationID?.text == "phone-1")
        #expect(all.state == .expired)
        #expect(throws: UsageError.self) { try query(["--event", "x"]) }
        #expect(throws: UsageError.self) { try query(["--state", "sent"]) }
    }

    @Test func theStatusSaysWhatIsMissing() {
        let answer = ServiceStatusAnswer(
            service: "delivery",
            version: "0.1.0",
            processID: 42,
            ready: false,
            conditions: ["relay": "not reached", "store": ""],
            metrics: [:]
        )
        let text = StatusCommand.table([
            .init(service: .delivery, status: .answered(answer)),
            .init(service: .relay, status: .silent("no answer")),
        ])
        #expect(text.contains("Delivery  not ready   42  0.1.0    relay: not reached\n"))
        #expect(text.contains("Relay     silent       -  -        no answer\n"))
    }

    @Test(arguments: ["relay", "a.b-c_1"]) func keyNames(name: String) {
        #expect(KeysCommand.isGood(name))
    }

    @Test(arguments: ["", ".hidden", "-x", "a/b", "a b", "ä"]) func badKeyNames(name: String) {
        #expect(!KeysCommand.isGood(name))
    }

    @Test func aRunningPushBusIsFoundByItsDirectory() async throws {
        let directory = try TemporaryDirectory()
        let arguments = try Arguments(
            ["--directory", directory.path],
            of: StatusCommand.command
        )
        let connection = try BusConnection(arguments)
        let failure = await #expect(throws: CommandFailure.self) {
            try await connection.ask(ServiceStatus(), of: .relay)
        }
        #expect(failure?.exitCode == ExitCode.unavailable)
        #expect(failure?.description.contains("pushbus up") == true)
    }

    @Test func tcpNeedsBothKeys() throws {
        let arguments = try Arguments(
            ["--directory", "/tmp", "--key", "x"],
            of: StatusCommand.command
        )
        #expect(throws: UsageError.self) { try BusConnection(arguments) }
    }

    @Test func everyCommandExplainsItself() {
        let commands = PushBusProgram.commands
        for command in commands.commands {
            #expect(commands.help.contains(command.name))
            #expect(command.help(program: "pushbus").contains("Usage: pushbus \(command.name)"))
        }
    }
}
