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

    @Test func everyTextIsTranslated() {
        let english = TextTable(.english)
        let chinese = TextTable(.simplifiedChinese)
        func isHan(_ text: String) -> Bool {
            text.unicodeScalars.contains { (0x4e00...0x9fff).contains($0.value) }
        }
        for key in TextKey.allCases {
            #expect(!isHan(english[key]), "\(key)")
            // The app's own name is the same everywhere.
            #expect(isHan(chinese[key]) || chinese[key] == "{app}", "\(key) is not translated")
        }
    }

    @Test(arguments: Language.allCases) func everyErrorHasATextOfItsOwn(language: Language) {
        let table = TextTable(language)
        var texts: Set<String> = []
        for code in DeviceError.Code.all {
            #expect(TextTable.key(for: code) != .errorOther, "\(code)")
            texts.insert(table.message(for: code))
        }
        #expect(texts.count == DeviceError.Code.all.count)
    }

    @Test(arguments: Language.allCases) func theDisclosureNamesAllThatIsSeen(
        language: Language
    ) {
        let seen: [TextKey] = [
            .disclosureToken, .disclosureEnvironment, .disclosureSourceAddress, .disclosureTiming,
            .disclosureSize, .disclosureEvent, .disclosureKeyID, .disclosureIdentity,
            .disclosureCiphertext,
        ]
        #expect(Disclosure.seenByRelay == seen)
        let page = Disclosure.page(language)
        #expect(page.count == 3 + seen.count)
        #expect(page.last == TextTable(language)[.disclosurePublicEndpoint])
    }

    @Test func theDisclosureSaysIt() {
        let page = Disclosure.page(.english).joined(separator: "\n")
        for word in [
            "push token", "sandbox or production", "IP address", "when notifications are sent",
            "how large", "id of the event and when it expires", "id of the content key", "a hash",
            "encrypted content", "public endpoint without a password",
        ] { #expect(page.contains(word), "\(word)") }
    }

    @Test(arguments: Language.allCases) func theStatusIsReadable(language: Language) async throws {
        let world = try DeviceWorld()
        let table = TextTable(language)
        #expect(table.lines(try await world.device.status) == [table[.statusSignedOut]])
        try await world.signIn()
        try await world.enroll()
        let lines = table.lines(try await world.device.status)
        #expect(lines.first?.contains("user-alice") == true)
        #expect(lines.contains(table[.permissionGranted]))
        #expect(lines.contains(table[.statusRegistered]))
        #expect(lines.allSatisfy { !$0.contains("{") })
        for action in DeviceStatus.Action.allCases { #expect(!table.name(of: action).isEmpty) }
    }

    @Test func everyReasonOfTheServerHasAText() {
        let reasons = [
            "not_enabled", "not_registered", "suspect", "owned_elsewhere", "relay_not_configured",
            "session_expiring",
        ]
        for reason in reasons {
            #expect(TextTable.key(forDelivery: reason) != .deliveryUnavailable)
        }
        #expect(TextTable.key(forDelivery: "unheard of") == .deliveryUnavailable)
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
