import Bus
import Contracts
import Loop
import ServiceKit
import TestKit
import Testing
import ZeroMQ

@Suite struct WindowTests {
    /// Answers an echo once `gate` is open and notes how many were in the handler at once.
    private struct Gate: Sendable {
        let open = Observed(false)
        let inside = Observed(0)
        let highest = Observed(0)

        var routes: BusRoutes {
            var routes = BusRoutes()
            routes.answer(Echo.self) { [self] (request, _) throws(Reject) in
                inside.update { $0 += 1 }
                let now = inside.value
                highest.update { $0 = max($0, now) }
                await open.wait { $0 }
                inside.update { $0 -= 1 }
                return EchoAnswer(request.text)
            }
            return routes
        }
    }

    @Test func aServerReadsNothingWithoutAFreeSlot() async throws {
        let world = try BusWorld()
        let gate = Gate()
        let server = try world.server(inFlight: 3, routes: gate.routes)
        try await world.serving(server) { _ in
            let client = try world.client(window: 100)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<50 {
                    group.addTask {
                        _ = try await client.ask(Echo("\(number)"), timeout: .seconds(30))
                    }
                }
                await gate.inside.wait { $0 == 3 }
                let received = world.count("pushbus_bus_received_total{server=\"service\"}")
                #expect(received == 3)
                gate.open.update { $0 = true }
                try await group.waitForAll()
            }
        }
        #expect(gate.highest.value <= 3)
    }

    @Test func aClientHoldsBackWhatItsWindowDoesNotTake() async throws {
        let world = try BusWorld()
        let gate = Gate()
        try await world.serving(try world.server(routes: gate.routes)) { _ in
            let client = try world.client(window: 2)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<10 {
                    group.addTask {
                        _ = try await client.ask(Echo("\(number)"), timeout: .seconds(30))
                    }
                }
                await gate.inside.wait { $0 == 2 }
                await #expect(throws: BusFailure.timeout) {
                    try await client.ask(Echo("late"), timeout: .milliseconds(30))
                }
                #expect(gate.inside.value == 2)
                gate.open.update { $0 = true }
                try await group.waitForAll()
            }
        }
        #expect(gate.highest.value == 2)
    }

    @Test func lateAndRepeatedAnswersAreCountedOnly() async throws {
        let world = try BusWorld()
        let gate = Gate()
        try await world.serving(try world.server(routes: gate.routes)) { _ in
            let client = try world.client()
            let impatient = Task { try await client.ask(Echo("a"), timeout: .milliseconds(50)) }
            // The same id several times: each copy is answered, the first answer counts.
            let patient = Task {
                try await client.ask(
                    Echo("b"),
                    timeout: .seconds(30),
                    resendEvery: .milliseconds(30)
                )
            }
            await #expect(throws: BusFailure.timeout) { try await impatient.value }
            await gate.inside.wait { $0 >= 4 }
            gate.open.update { $0 = true }
            let answer = try await patient.value
            #expect(answer == EchoAnswer("b"))
            for _ in 0..<5 { _ = try await client.ask(Echo("c"), timeout: .seconds(10)) }
        }
        #expect(world.count("pushbus_bus_client_resent_total{client=\"client\"}") >= 2)
        #expect(world.count("pushbus_bus_client_late_answers_total{client=\"client\"}") >= 2)
    }

    @Test func cancellingATaskEndsItsRequestAndFreesTheWindow() async throws {
        let world = try BusWorld()
        let gate = Gate()
        try await world.serving(try world.server(routes: gate.routes)) { _ in
            let client = try world.client(window: 1)
            let task = Task { try await client.ask(Echo("a"), timeout: .seconds(30)) }
            await gate.inside.wait { $0 == 1 }
            task.cancel()
            await #expect(throws: BusFailure.stopped) { try await task.value }
            gate.open.update { $0 = true }
            _ = try await client.ask(Echo("b"), timeout: .seconds(30))
        }
    }

    @Test func stoppingAClientEndsItsRequests() async throws {
        let world = try BusWorld()
        let client = try world.client()
        let task = Task { try await client.ask(Echo("a"), timeout: .seconds(30)) }
        client.stop()
        await #expect(throws: BusFailure.stopped) { try await task.value }
        await #expect(throws: BusFailure.stopped) {
            try await client.ask(Echo("a"), timeout: .seconds(30))
        }
    }

    @Test func streamedAnswersComeOneByOne() async throws {
        let world = try BusWorld()
        var routes = BusRoutes()
        let asked = Observed(0)
        routes.stream(Echo.self) { (request, _, emit) throws(Reject) in
            if request.text == "fail" { throw Reject(.failed, "as asked") }
            for number in 0..<500 {
                _ = await emit(EchoAnswer("\(number)"))
                if number == 0 { await asked.wait { $0 > 0 } }
            }
        }
        try await world.serving(try world.server(routes: routes)) { _ in
            let client = try world.client()
            var seen: [String] = []
            try await client.stream(Echo("x"), timeout: .seconds(30)) { answer in
                seen.append(answer.text)
                asked.update { $0 += 1 }
                return seen.count < 500
            }
            #expect(seen == (0..<500).map(String.init))
            await #expect(throws: BusFailure.rejected(Reject(.failed, "as asked"))) {
                try await client.stream(Echo("fail"), timeout: .seconds(30)) { _ in true }
            }
        }
    }

    @Test func twoServersShareTheWork() async throws {
        let world = try BusWorld()
        let first = Gate()
        let second = Gate()
        let other = BusEndpoint(.ipc(world.directory.file("other.sock")))
        try await world.serving(
            try world.server(routes: first.routes),
            try world.server(other, routes: second.routes)
        ) { endpoints in
            let client = try world.client(endpoints, window: 2)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask { _ = try await client.ask(Echo("x"), timeout: .seconds(30)) }
                }
                await first.inside.wait { $0 == 2 }
                await second.inside.wait { $0 == 2 }
                first.open.update { $0 = true }
                second.open.update { $0 = true }
                try await group.waitForAll()
            }
        }
    }
}
