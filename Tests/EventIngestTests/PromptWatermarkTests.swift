import EventIngestService
import TestKit
import Testing

@Suite struct PromptWatermarkTests {
    /// Answers with the number of the question, once the gate lets it.
    private struct GatedRegistration: WatermarkSource {
        struct Silence: Error {}
        let asked = Observed<Int64>(0)
        /// How many questions may be answered so far.
        let allowed = Observed<Int64>(0)
        let isSilent = Observed(false)

        func watermark(within _: Duration) async throws -> Int64 {
            asked.update { $0 += 1 }
            let number = asked.value
            if isSilent.value { throw Silence() }
            await allowed.wait { $0 >= number }
            return number
        }
    }

    @Test func oneQuestionServesAllWhoCameBeforeIt() async throws {
        let registration = GatedRegistration()
        let prompt = PromptWatermark(registration)
        async let first = prompt.value()
        _ = try await within(.seconds(20)) { await registration.asked.wait { $0 == 1 } }
        let others = await withTaskGroup(of: Int64?.self) { group in
            for _ in 0..<10 { group.addTask { await prompt.value() } }
            // Let the others come while the first question is open.
            while await prompt.waitingCount < 10 { await Task.yield() }
            registration.allowed.update { $0 = 2 }
            var values: [Int64?] = []
            for await value in group { values.append(value) }
            return values
        }
        #expect(await first == 1)
        #expect(others == Array(repeating: 2, count: 10))
        #expect(registration.asked.value == 2)
    }

    @Test func nobodyWaitsForASilentRegistrationTwice() async throws {
        let registration = GatedRegistration()
        let prompt = PromptWatermark(registration)
        registration.isSilent.update { $0 = true }
        #expect(await prompt.value() == nil)
        #expect(await prompt.value() == nil)
        #expect(registration.asked.value == 1)
        registration.isSilent.update { $0 = false }
        registration.allowed.update { $0 = 9 }
        await prompt.heard()
        #expect(await prompt.value() == 2)
    }
}
