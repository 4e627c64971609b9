import Commands
import Contracts
import PushBusDevice
import Testing

@testable import phone

@Suite struct PhoneSettingsTests {
    private static let base = [
        "--directory", "/tmp/p", "--simulator", "http://127.0.0.1:1",
    ]

    private func settings(_ more: [String]) throws -> PhoneSettings {
        try PhoneSettings(Arguments(Self.base + more, of: RunCommand.command))
    }

    @Test func defaults() throws {
        let settings = try settings([])
        #expect(settings.signIn == nil)
        #expect(settings.environment == .sandbox)
        #expect(settings.language == .english)
        #expect(settings.enable == nil)
        #expect(settings.profile == .reference)
    }

    @Test func categoriesAreExactlyThoseNamed() throws {
        let settings = try settings([
            "--pair", "c", "--server", "https://a.example", "--enable", "alerts,task_failure",
            "--language", "zh-Hans",
        ])
        #expect(settings.signIn?.server.text == "https://a.example")
        #expect(settings.enable == [.alert, .taskFailure])
        let preferences = PushPreferences(enabling: settings.enable ?? [])
        #expect(preferences == PushPreferences(enabled: true, alerts: true, taskFailure: true))
    }

    @Test func theLinkOfTheQRCodeNamesTheServer() throws {
        let link = "pushbus://pair?server=https%3A%2F%2Fa.example%2Fx&code=c"
        let settings = try settings(["--pair", link])
        #expect(settings.signIn?.server.text == "https://a.example/x")
        guard case .pairing(let code) = settings.signIn?.method else {
            Issue.record("no pairing")
            return
        }
        #expect(code.text == "c")
        #expect(throws: UsageError.self) {
            try self.settings(["--pair", link, "--server", "https://b.example"])
        }
    }

    @Test(arguments: [
        ["--pair", "pushbus://pair?code=c"], ["--installation", "a b"],
        ["--pair", "c"], ["--pair", "c", "--server", "http://a.example"],
        ["--pair", "c", "--login", "u", "--server", "https://a.example"],
        ["--enable", "everything"], ["--language", "de"], ["--environment", "test"],
    ]) func refused(words: [String]) {
        #expect(throws: UsageError.self) { try settings(words) }
    }

    @Test func theSimulatorIsOnThisMachine() {
        let words = [
            "--directory", "/p", "--installation", "i", "--simulator", "http://a.example:1",
        ]
        #expect(throws: UsageError.self) {
            try PhoneSettings(Arguments(words, of: RunCommand.command))
        }
    }
}
