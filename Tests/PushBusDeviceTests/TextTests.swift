import Contracts
import PushBusDevice
import Testing

@Suite struct TextTests {
    @Test(arguments: Language.allCases) func everyTextIsThere(language: Language) {
        let table = TextTable(language)
        for key in TextKey.allCases {
            #expect(table.contains(key), "\(key) is missing in \(language.rawValue)")
            #expect(!table[key].isEmpty)
        }
    }

    @Test func allLanguagesUseTheSamePlaceholders() {
        let english = TextTable(.english)
        let chinese = TextTable(.simplifiedChinese)
        for key in TextKey.allCases {
            #expect(placeholders(english[key]) == placeholders(chinese[key]), "\(key)")
        }
    }

    @Test func aValueIsNotLookedAtAgain() {
        let table = TextTable(.english)
        let text = table.filled(.alertFiringTitle, ["rule": "{server} {rule}", "server": "x"])
        #expect(text == "Alert: {server} {rule}")
    }

    @Test func bannersOfEveryKind() throws {
        let security = NotificationContent.security(
            SecurityContent(
                serverID: "web-1",
                securityEventID: "7",
                securityEventType: "ssh_new_ip_login"
            )
        )
        let run = TaskRunContent(
            taskID: "t",
            runID: "r",
            total: 5,
            failed: 2,
            timedOut: 1,
            offline: 0,
            denied: 0
        )
        let english = NotificationOpener(language: .english)
        let chinese = NotificationOpener(language: .simplifiedChinese)
        #expect(english.banner(for: security).body == "SSH login from a new address on web-1.")
        #expect(
            english.banner(for: .taskFailure(run)).body.hasPrefix("Of 5: 2 failed, 1 timed out")
        )
        #expect(english.banner(for: .taskSuccess(run)).body == "All 5 succeeded.")
        #expect(
            chinese.banner(for: OpenerFixture.alert(.firing))
                == Banner(title: "告警：CPU high", body: "web-1 需要关注。")
        )
        #expect(
            chinese.banner(for: OpenerFixture.alert(.resolved))
                == Banner(title: "已恢复：CPU high", body: "web-1 已恢复正常。")
        )
        #expect(chinese.genericBanner.body == "打开 ServerBee 查看此通知。")
    }

    @Test func alertKeysWithAndWithoutPadding() {
        let expected = AlertKey(rule: "a", server: "b", sourceAddress: "", startedAt: "c")
        #expect(AlertKey("v1.WyJhIiwiYiIsIiIsImMiXQ==") == expected)
        #expect(AlertKey("v1.WyJhIiwiYiIsIiIsImMiXQ") == expected)
        #expect(AlertKey("v2.WyJhIiwiYiIsIiIsImMiXQ==") == nil)
        #expect(AlertKey("v1.WyJhIl0=") == nil)
        #expect(AlertKey("v1.!") == nil)
    }

    private func placeholders(_ text: String) -> Set<Substring> {
        Set(text.matches(of: /\{[a-z_]+\}/).map(\.output))
    }
}
