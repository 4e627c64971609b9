import Contracts
import Testing

@testable import phone

@Suite struct PhoneStateTests {
    @Test func asksForEverythingAfterARestartOfTheSimulator() throws {
        let token = try #require(DeviceToken("00ff"))
        var state = PhoneState(token: token, environment: .sandbox)
        #expect(state.resume(in: "a") == nil)
        state.lastPush = 50
        #expect(state.resume(in: "a") == 50)
        #expect(state.resume(in: nil) == 50)
        #expect(state.resume(in: "b") == 0)
        state.lastPush = 3
        #expect(state.resume(in: "b") == 3)
    }
}
