import Commands
import Contracts
import Glibc
import TestKit
import Testing
import Topology

@testable import pushbus

@Suite struct StackPlanTests {
    private func plan(_ words: [String], _ environment: [String: String] = [:]) throws -> StackPlan
    {
        try UpCommand.plan(
            Arguments(
                ["--directory", "/tmp/x", "--executables", "/bin"] + words,
                of: UpCommand.command
            ),
            environment: environment
        )
    }

    private let credentials = SimulatorCredentials(
        keyID: "K",
        teamID: "T",
        keyFile: "/k",
        caFile: "/ca",
        bundleIDs: ["app.example"]
    )

    @Test func theRelayIsTurnedToTheSimulator() throws {
        let plan = try plan(["--simulator", "--simulator-port", "9000"])
        #expect(plan.simulator == .init(control: 9000, sandbox: 9001, production: 9002))
        let relay = try plan.topology(credentials)[.relay].environment
        #expect(relay["PUSHBUS_RELAY_APNS_SANDBOX_ORIGIN"] == "localhost:9001")
        #expect(relay["PUSHBUS_RELAY_APNS_PRODUCTION_ORIGIN"] == "localhost:9002")
        #expect(relay["PUSHBUS_RELAY_APNS_TOPIC"] == "app.example")
        #expect(relay["PUSHBUS_RELAY_APNS_CA_FILE"] == "/ca")
    }

    @Test func variablesOfTheCallerGoToTheirServiceAndWin() throws {
        let environment = [
            "PUSHBUS_REGISTRATION_HTTP": "127.0.0.1:1", "PUSHBUS_RELAY_APNS_TEAM_ID": "ABC",
            "PUSHBUS_DIRECTORY": "/other", "HOME": "/root",
        ]
        let topology = try plan([], environment).topology(nil)
        #expect(topology[.registration].environment["PUSHBUS_REGISTRATION_HTTP"] == "127.0.0.1:1")
        #expect(topology[.relay].environment == ["PUSHBUS_RELAY_APNS_TEAM_ID": "ABC"])
        #expect(topology[.delivery].environment.isEmpty)
    }

    @Test func severalDeliveriesShareADatabase() throws {
        let url = "postgresql://me@localhost/push"
        let topology = try plan(["--store", url, "--delivery", "3"]).topology(nil)
        #expect(topology.database == url)
        #expect(topology[.delivery].instances == 3)
        #expect(throws: UsageError.self) { try plan(["--delivery", "2"]) }
        #expect(throws: UsageError.self) { try plan(["--store", "sqlite:/x"]) }
    }

    @Test func servicesCanBeLeftOut() throws {
        let topology = try plan(["--without", "relay,fanout"]).topology(nil)
        #expect(topology[.relay].presence == .absent)
        #expect(topology[.fanout].presence == .absent)
        #expect(topology[.delivery].presence == .real)
        #expect(throws: UsageError.self) { try plan(["--without", "mailer"]) }
    }

    @Test func oneDirectoryOneUp() throws {
        let directory = try TemporaryDirectory()
        let lock = try DirectoryLock(directory.file("a"))
        let failure = #expect(throws: CommandFailure.self) {
            try DirectoryLock(directory.file("a"))
        }
        #expect(failure?.description.contains("already") == true)
        _ = try DirectoryLock(directory.file("b"))
        withExtendedLifetime(lock) {}
    }

    @Test func freePortsDiffer() throws {
        #expect(Set(try FreePort.take(4)).count == 4)
    }

    @Test func memoryIsReadFromProc() {
        #expect(ProcessMemory.proportionalKiB(in: "Rss: 9 kB\nPss:     1234 kB\n") == 1234)
        #expect(ProcessMemory.proportionalKiB(in: "Rss: 9 kB\n") == nil)
        #expect((ProcessMemory.proportionalKiB(getpid()) ?? 0) > 0)
    }
}
