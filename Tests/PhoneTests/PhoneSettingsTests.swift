import Commands
import Contracts
import PushBusDevice
import Testing

@testable import phone

@Suite struct PhoneSettingsTests {
    private static let base = [
        "--directory", "/tmp/p", "--installation", "i", "--simulator", "http://127.0.0.1:1",
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

    @Test(arguments: [
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
