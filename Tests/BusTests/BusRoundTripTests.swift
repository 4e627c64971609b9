import Bus
import Contracts
import Loop
import ServiceKit
import Testing

@Suite struct BusRoundTripTests {
    @Test func packedRequestsAreAnsweredInKind() async throws {
        let world = try BusWorld()
        try await world.serving(try world.server()) { _ in
            let client = try world.client()
            let answer = try await client.ask(
                Echo("hello", data: [0, 1, 255]),
                timeout: .seconds(10)
            )
            #expect(answer == EchoAnswer("hello", data: [0, 1, 255]))
        }
    }

    @Test func jsonRequestsAreAnsweredInKind() async throws {
        let world = try BusWorld()
        try await world.serving(try world.server()) { _ in
            let client = try world.client(forcesJSON: true)
            let answer = try await client.ask(
                Echo("/slash/ \u{1F600}", data: [7]),
                timeout: .seconds(10)
            )
            #expect(answer == EchoAnswer("/slash/ \u{1F600}", data: [7]))
            _ = try await client.ask(Note(line: "x"), timeout: .seconds(10))
        }
    }

    @Test func refusalsReachTheClient() async throws {
        let world = try BusWorld()
        try await world.serving(try world.server()) { _ in
            let client = try world.client()
            await #expect(throws: BusFailure.rejected(Reject(.failed, "as asked"))) {
                try await client.ask(Echo("fail"), timeout: .seconds(10))
            }
            await #expect {
                try await client.ask(Echo("forbidden"), timeout: .seconds(10))
            } throws: { error in
                guard case BusFailure.rejected(let reject)? = error as? BusFailure else {
                    return false
                }
                return reject.code == .malformed && reject.pointer == "/text"
            }
        }
        #expect(
            world.count("pushbus_bus_rejected_total{code=\"failed\",server=\"service\"}") == 1
        )
    }

    @Test func aThousandRequestsInParallelAllComeBack() async throws {
        let world = try BusWorld()
        try await world.serving(try world.server()) { _ in
            let client = try world.client(window: 32)
            let right = try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<1000 {
                    group.addTask {
                        let answer = try await client.ask(Echo("\(number)"), timeout: .seconds(30))
                        return answer.text == "\(number)"
                    }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(right == 1000)
        }
    }

    @Test func aClientMayStartBeforeItsServer() async throws {
        let world = try BusWorld()
        let client = try world.client()
        let early = Task { try await client.ask(Echo("early"), timeout: .seconds(20)) }
        try await world.serving(try world.server()) { _ in
            let answer = try await early.value
            #expect(answer == EchoAnswer("early"))
        }
    }

    @Test func aSecondServerOnTheSamePathIsRefused() async throws {
        let world = try BusWorld()
        try await world.serving(try world.server()) { _ in
            let second = try world.server()
            await #expect {
                try await second.run(until: StopSignal())
            } throws: { error in
                "\(error)".contains("already running")
            }
            let client = try world.client()
            _ = try await client.ask(Echo("still there"), timeout: .seconds(10))
        }
    }
}
