import Commands
import Contracts
import Testing

@testable import pushbus

@Suite struct OutboxCommandTests {
    @Test func everyRowIsMeantOnlyWhenSaid() throws {
        let id = "11111111-1111-4111-8111-111111111111"
        for command in [OutboxCommand.retry, OutboxCommand.cancel] {
            func rows(_ words: [String]) throws -> OutboxSelection {
                try OutboxCommand.rows(Arguments(words, of: command))
            }
            #expect(throws: UsageError.self) { try rows([]) }
            #expect(throws: UsageError.self) { try rows(["--all", "--event", id]) }
            #expect(throws: UsageError.self) { try rows(["--event", "x"]) }
            #expect(try rows(["--all"]).all == true)
            let narrow = try rows(["--event", id, "--installation", "phone-1"])
            #expect(narrow.eventID?.description == id)
            #expect(narrow.installationID?.text == "phone-1")
            #expect(narrow.all == nil)
        }
    }

    @Test(arguments: ["0", "-1", "x", "10001"]) func nothingYoungerThanADayGoes(days: String) {
        #expect(throws: UsageError.self) {
            try OutboxCommand.days(Arguments(["--older-than=" + days], of: OutboxCommand.purge))
        }
    }

    @Test func theTableShowsAges() {
        let answer = OutboxStatusAnswer(
            states: [
                .init(state: .pending, rows: 3, oldestAt: UnixSeconds(1000)),
                .init(state: .expired, rows: 0, oldestAt: nil),
            ],
            cleanupsWaiting: 2
        )
        let text = OutboxCommand.text(of: answer, now: UnixMilliseconds(1_042_999))
        #expect(text.contains("pending     3  1970-01-01T00:16:40.000Z       42\n"))
        #expect(text.contains("expired     0  -"))
        #expect(text.contains("clean-ups waiting: 2\n"))
    }
}
