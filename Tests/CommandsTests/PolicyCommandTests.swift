import Commands
import Contracts
import ServiceKit
import Testing

@testable import pushbus

@Suite struct PolicyCommandTests {
    private func rule(_ words: String...) throws -> AlertRule {
        try RuleCommand.rule(Arguments(words, of: RuleCommand.add))
    }

    private func window(_ words: [String]) throws -> MaintenanceWindow {
        try MaintenanceCommand.window(Arguments(words, of: MaintenanceCommand.add))
    }

    @Test func aRuleIsWhatTheWordsSay() throws {
        #expect(try rule("cpu") == AlertRule(id: "cpu", name: "cpu"))
        let full = try rule(
            "cpu",
            "--name",
            "CPU high",
            "--disabled",
            "--repeat-minutes",
            "15",
            "--suppression",
            "never",
            "--exclude",
            "a,b"
        )
        #expect(
            full
                == AlertRule(
                    id: "cpu",
                    name: "CPU high",
                    isEnabled: false,
                    coverage: Coverage(.exclude, ["a", "b"]),
                    repeatSeconds: 900,
                    suppression: .never
                )
        )
        #expect(throws: UsageError.self) { try rule("cpu", "--repeat-minutes", "4") }
        #expect(throws: UsageError.self) { try rule("cpu", "--include", "a", "--exclude", "b") }
        #expect(throws: UsageError.self) { try rule("cpu", "--suppression", "sometimes") }
    }

    @Test func aSecurityRuleNeedsItsType() throws {
        func rule(_ words: String...) throws -> SecurityRule {
            try RuleCommand.securityRule(Arguments(words, of: RuleCommand.security))
        }
        let rule1 = try rule(
            "guess",
            "--type",
            "ssh_brute_force_detected",
            "--threshold",
            "10",
            "--exclude-cidrs",
            "10.0.0.0/8,2001:db8::/32"
        )
        #expect(rule1.type == .bruteForce)
        #expect(rule1.threshold == 10)
        #expect(rule1.excludeNetworks == ["10.0.0.0/8", "2001:db8::/32"])
        #expect(throws: UsageError.self) { try rule("guess") }
        #expect(throws: UsageError.self) { try rule("guess", "--type", "ssh_brute_force") }
    }

    @Test func aWindowIsSingleOrWeekly() throws {
        let single = try window([
            "move", "--from", "2026-01-31T13:00:00+01:00", "--until", "2026-01-31T14:00:00Z",
        ])
        #expect(single.once?.from == UnixSeconds(1_769_860_800))
        #expect(single.once?.until == UnixSeconds(1_769_868_000))
        let weekly = try window([
            "night", "--weekly", "sat,sun", "--from", "23:00", "--until", "05:00", "--zone",
            "Europe/Berlin", "--include", "web-1",
        ])
        #expect(weekly.weekly?.days == [.saturday, .sunday])
        #expect(weekly.weekly?.from.minutes == 1380)
        #expect(weekly.coverage == Coverage(.include, ["web-1"]))
        let text = "sat,sun 23:00 to 05:00 Europe/Berlin"
        #expect(MaintenanceCommand.when(weekly) == text)
        for words in [
            ["w", "--from", "23:00", "--until", "05:00"],
            ["w", "--from", "23:00", "--until", "05:00", "--weekly", "sat"],
            ["w", "--from", "23:00", "--until", "24:00", "--weekly", "sat", "--zone", "UTC"],
            ["w", "--from", "23:00", "--until", "05:00", "--weekly", "day", "--zone", "UTC"],
            ["w", "--from", "2026-01-31T12:00:00Z"],
        ] {
            #expect(throws: UsageError.self) { try window(words) }
        }
    }

    @Test func aKeyIsLongAndNeverTheSame() {
        let random = RandomSource.seeded(1)
        let keys = [IntegratorCommand.makeKey(random), IntegratorCommand.makeKey(random)]
        #expect(keys[0] != keys[1])
        #expect(keys.allSatisfy { $0.hasPrefix("pbk_") && $0.utf8.count == 68 })
    }

    @Test func anIntegratorKeepsItsKeys() throws {
        let words = ["monitor", "--sources", "/monitor/*,/m"]
        let integrator = try IntegratorCommand.integrator(
            Arguments(words, of: IntegratorCommand.add),
            keyHashes: ["00"]
        )
        #expect(integrator.sources == ["/monitor/*", "/m"])
        #expect(integrator.types == ["org.pushbus.*"])
        #expect(integrator.keyHashes == ["00"])
    }
}
