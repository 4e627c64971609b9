import Contracts
import RelayCore
import RelayService
import ServiceKit
import TestKit
import Testing

@Suite("Against the simulator", .timeLimit(.minutes(1)))
struct SimulatorTests {
    @Test("A faithful APNs accepts what the pool sends, ramp and provider token included")
    func accepted() async throws {
        let apns = try await SimulatedAPNs()
        for number in 0..<20 {
            try await apns.control("PUT", "/tokens/\(SimulatedAPNs.token(number))")
        }
        let pushes = try (0..<500).map { try apns.push($0 % 20) }
        let verdicts = Observed([RelayVerdict]())
        await apns.pool.enqueue(pushes) { known in
            verdicts.update { $0 += known.map(\.verdict) }
        }
        await verdicts.wait { $0.count == 500 }
        #expect(verdicts.value.allSatisfy { $0.outcome == .accepted })
        let received = try await apns.control("GET", "/tokens/\(SimulatedAPNs.token(3))/received")
        #expect(String(decoding: received, as: UTF8.self).contains("mutable-content"))
        await apns.stop()
    }

    @Test("An app that was deleted makes its token dead, with the simulator's timestamp")
    func unregistered() async throws {
        let apns = try await SimulatedAPNs()
        try await apns.control("PUT", "/tokens/\(SimulatedAPNs.token(1))")
        #expect(await apns.pool.send(try apns.push(1)).outcome == .accepted)
        try await apns.control("DELETE", "/tokens/\(SimulatedAPNs.token(1))")
        let verdict = await apns.pool.send(try apns.push(1))
        #expect(verdict.cleanup == .dead)
        #expect(verdict.apnsTimestamp == apns.time.wall)
        await apns.stop()
    }

    @Test("Over three hours the simulator never complains about tokens")
    func hours() async throws {
        let apns = try await SimulatedAPNs()
        try await apns.control("PUT", "/tokens/\(SimulatedAPNs.token(1))")
        for _ in 0..<18 {
            #expect(await apns.pool.send(try apns.push(1)).outcome == .accepted)
            apns.time.advance(by: .seconds(10 * 60))
            await apns.pool.upkeep()
        }
        let alarms = apns.metrics.snapshot().filter { $0.key.contains("alarms_total") }
        #expect(alarms.isEmpty)
        await apns.stop()
    }

    @Test("Throttled after each bad token, the others still arrive, each once")
    func throttled() async throws {
        let apns = try await SimulatedAPNs()
        try await apns.control(
            "PATCH",
            "/settings",
            #"{"throttle_after_rejection":true,"reject_unknown_tokens":true}"#
        )
        for number in 0..<20 where number % 5 != 0 {
            try await apns.control("PUT", "/tokens/\(SimulatedAPNs.token(number))")
        }
        let pushes = try (0..<400).map { try apns.push($0 % 20) }
        let verdicts = Observed([RelayVerdict]())
        await apns.pool.enqueue(pushes) { known in
            verdicts.update { $0 += known.map(\.verdict) }
        }
        await verdicts.wait { $0.count == 400 }
        #expect(verdicts.value.count { $0.outcome == .accepted } == 320)
        #expect(verdicts.value.count { $0.cleanup == .suspect } == 80)
        let statistics = String(
            decoding: try await apns.control("GET", "/statistics"),
            as: UTF8.self
        )
        #expect(statistics.contains(#""requests":400"#), "\(statistics)")
        await apns.stop()
    }

    @Test("Scripted GOAWAYs, refusals and server errors end in accepted, each message once")
    func scripted() async throws {
        let apns = try await SimulatedAPNs()
        for number in 0..<10 {
            try await apns.control("PUT", "/tokens/\(SimulatedAPNs.token(number))")
        }
        #expect(await apns.pool.send(try apns.push(0)).outcome == .accepted)
        let outcomes = [
            #"{"action":"reset","code":"REFUSED_STREAM","count":3}"#,
            #"{"action":"goaway","graceful":true}"#,
            #"{"status":503,"reason":"Shutdown"}"#,
            #"{"status":429,"reason":"TooManyProviderTokenUpdates"}"#,
        ]
        for outcome in outcomes {
            try await apns.control("PUT", "/script", #"{"outcomes":[\#(outcome)]}"#)
            for number in 0..<10 {
                #expect(await apns.pool.send(try apns.push(number)).outcome == .accepted)
            }
        }
        await apns.stop()
    }
}
