import Contracts
import HTTP2
import Loop
import RelayCore
import RelayService
import ServiceKit
import TLS
import TestKit
import Testing

@Suite("Pool: faults of the transport", .timeLimit(.minutes(1)))
struct PoolTransportTests {
    @Test("A refused stream is sent again and counts as nothing")
    func refused() async throws {
        let fixture = try await PoolFixture { push, connection in
            if push.index < 3 {
                connection.reset(push.stream, .refusedStream)
            } else {
                connection.respond(push.stream, HTTP2ServerResponse(status: 200))
            }
        }
        #expect(try await fixture.send(10).allSatisfy { $0.outcome == .accepted })
        #expect(fixture.count("refused") == 3)
        #expect(fixture.count("ambiguous") == 0)
        await fixture.stop()
    }

    @Test("A peer that refuses for ever is not asked for ever")
    func refusedForEver() async throws {
        let fixture = try await PoolFixture { push, connection in
            connection.reset(push.stream, .refusedStream)
        }
        let verdict = await fixture.pool.send(try fixture.push())
        #expect(verdict.outcome == .retryable)
        #expect(verdict.exposure == .none)
        #expect(fixture.apns.seen.value.count < 50)
        await fixture.stop()
    }

    @Test(
        "Any other reset is ambiguous and not repeated",
        arguments: [
            "INTERNAL_ERROR", "CANCEL", "ENHANCE_YOUR_CALM", "NO_ERROR",
        ]
    )
    func reset(code: String) async throws {
        let fixture = try await PoolFixture { push, connection in
            guard let code = HTTP2ErrorCode(name: code) else { return }
            connection.reset(push.stream, code)
        }
        let verdict = await fixture.pool.send(try fixture.push())
        #expect(verdict.outcome == .retryable)
        #expect(verdict.publicReason == "NetworkUnavailable")
        #expect(verdict.exposure == .ambiguous)
        #expect(fixture.apns.seen.value.count == 1)
        await fixture.stop()
    }

    @Test("What a GOAWAY did not process goes over a new connection")
    func goAway() async throws {
        let fixture = try await PoolFixture { push, connection in
            if push.connection == 1, push.index == 20 {
                connection.goAway(lastStream: push.stream - 2, debugData: [])
            } else if push.connection == 2 || push.index < 20 {
                connection.respond(push.stream, HTTP2ServerResponse(status: 200))
            }
        }
        let verdicts = try await fixture.send(100)
        #expect(verdicts.allSatisfy { $0.outcome == .accepted })
        #expect(fixture.apns.opened.value == 2)
        #expect(fixture.count("go_away") == 1)
        #expect(fixture.count("ambiguous") == 0)
        await fixture.stop()
    }

    @Test("A graceful GOAWAY loses nothing and repeats nothing")
    func gracefulGoAway() async throws {
        let fixture = try await PoolFixture { push, connection in
            connection.respond(push.stream, HTTP2ServerResponse(status: 200))
            if push.index % 500 == 250 { connection.shutDownGracefully() }
        }
        #expect(try await fixture.send(3_000).allSatisfy { $0.outcome == .accepted })
        #expect(fixture.apns.seen.value.count == 3_000)
        await fixture.stop()
    }

    @Test("A connection that says GOAWAY while idle is replaced at once")
    func idleGoAway() async throws {
        let fixture = try await PoolFixture()
        #expect(await fixture.pool.send(try fixture.push(1)).outcome == .accepted)
        await fixture.onAPNs { $0[0].goAway(debugData: Array(#"{"reason":"Shutdown"}"#.utf8)) }
        await fixture.apns.opened.wait { $0 == 2 }
        let lines = fixture.log.lines(of: "apns is closing a connection")
        #expect(lines.count == 1)
        #expect(lines.first?.contains("Shutdown") == true)
        #expect(await fixture.pool.send(try fixture.push(2)).outcome == .accepted)
        #expect(fixture.apns.seen.value.map(\.connection) == [1, 2])
        await fixture.stop()
    }

    @Test("The JSON reason of a GOAWAY is read: a refused certificate opens the breaker")
    func goAwayReason() async throws {
        let fixture = try await PoolFixture { push, connection in
            connection.goAway(
                lastStream: 0,
                debugData: Array(#"{"reason":"BadCertificateEnvironment"}"#.utf8)
            )
        }
        let verdict = await fixture.pool.send(try fixture.push())
        #expect(verdict.outcome == .retryable)
        #expect(verdict.reason == "BadCertificateEnvironment")
        #expect(verdict.scope == .provider)
        #expect(verdict.exposure == .none)
        #expect(verdict.retryAfterMilliseconds ?? 0 > 0)
        await fixture.stop()
    }

    @Test("A lost connection makes what was under way ambiguous, the next message reconnects")
    func lost() async throws {
        let fixture = try await PoolFixture { push, connection in
            if push.index == 1 {
                connection.close()
            } else {
                connection.respond(push.stream, HTTP2ServerResponse(status: 200))
            }
        }
        #expect(await fixture.pool.send(try fixture.push(1)).outcome == .accepted)
        #expect(await fixture.pool.send(try fixture.push(2)).exposure == .ambiguous)
        #expect(await fixture.pool.send(try fixture.push(3)).outcome == .accepted)
        #expect(fixture.apns.opened.value == 2)
        await fixture.stop()
    }

    @Test("Silence ends at the deadline as ambiguous; a few silent answers retire the connection")
    func silence() async throws {
        let fixture = try await PoolFixture(deadline: .milliseconds(150)) {
            push,
            connection in
            if push.index == 0 || push.connection > 1 {
                connection.respond(push.stream, HTTP2ServerResponse(status: 200))
            }
        }
        #expect(await fixture.pool.send(try fixture.push()).outcome == .accepted)
        let verdicts = try await fixture.send(3)
        #expect(verdicts.allSatisfy { $0.exposure == .ambiguous })
        #expect(await fixture.pool.send(try fixture.push()).outcome == .accepted)
        #expect(fixture.apns.opened.value == 2)
        #expect(fixture.count("silent") == 1)
        await fixture.stop()
    }

    @Test(
        "A certificate that must not be trusted is the operator's matter: held, never sent",
        arguments: RelayFiles.badCertificates
    )
    func untrusted(certificate: String) async throws {
        let fixture = try await PoolFixture(certificate: certificate)
        let first = await fixture.pool.send(try fixture.push())
        #expect(first.outcome == .retryable)
        #expect(first.exposure == .none)
        let second = await fixture.pool.send(try fixture.push())
        #expect(second.reason == "CertificateNotTrusted")
        #expect(second.scope == .provider)
        #expect(fixture.alarms("CertificateNotTrusted") >= 1)
        #expect(fixture.isOpen("provider"))
        #expect(fixture.apns.seen.value.isEmpty)
        await fixture.stop()
    }

    @Test("A server that knows nothing above TLS 1.1 gets nothing")
    func oldTLS() async throws {
        let fixture = try await PoolFixture(maximumVersion: .tls11, deadline: .milliseconds(400))
        let verdict = await fixture.pool.send(try fixture.push())
        #expect(verdict.publicReason == "NetworkUnavailable")
        #expect(verdict.exposure == .none)
        #expect(fixture.apns.opened.value == 0)
        await fixture.stop()
    }

    @Test("A message waits for the next opening, however long another clock stands still")
    func comesBack() async throws {
        let fixture = try await PoolFixture(isReachable: false)
        async let verdict = fixture.pool.send(try fixture.push())
        await fixture.log.wait(for: "apns cannot be reached")
        try await fixture.restart()
        #expect(try await verdict.outcome == .accepted)
        await fixture.stop()
    }

    @Test("A peer that ends each connection at once is not stormed")
    func noStorm() async throws {
        let fixture = try await PoolFixture(deadline: .milliseconds(1_500), standsStill: false) {
            _,
            connection in
            connection.goAway(lastStream: 0, thenClose: true)
        }
        let verdict = await fixture.pool.send(try fixture.push())
        #expect(verdict.outcome == .retryable)
        #expect(verdict.exposure == .none)
        #expect(fixture.apns.opened.value <= 4)
        await fixture.stop()
    }

    @Test("Silence beyond the limit of streams: every message ends in time, and nothing spins")
    func silentExcess() async throws {
        var settings = HTTP2ServerSettings()
        settings.maximumConcurrentStreams = 2
        let fixture = try await PoolFixture(
            settings: settings,
            deadline: .milliseconds(600),
            standsStill: false
        ) { _, _ in }
        let before = await fixture.loopCPU()
        let verdicts = try await fixture.send(20)
        #expect(verdicts.allSatisfy { $0.outcome == .retryable })
        #expect(verdicts.count { $0.exposure == .ambiguous } <= 2)
        #expect(await fixture.loopCPU() - before < .milliseconds(300))
        await fixture.stop()
    }

    @Test("SETTINGS and PINGs of an idle peer do not make its connection look dead")
    func idleFrames() async throws {
        let fixture = try await PoolFixture()
        #expect(await fixture.pool.send(try fixture.push(1)).outcome == .accepted)
        for limit in [5, 1, 1_000] as [UInt32] {
            await fixture.onAPNs {
                $0[0].sendPings(50)
                $0[0].setMaximumConcurrentStreams(limit)
            }
            #expect(await fixture.pool.send(try fixture.push(2)).outcome == .accepted)
        }
        #expect(fixture.apns.opened.value == 1)
        await fixture.stop()
    }

    @Test("A limit that falls to one after each refusal and rises again is followed both ways")
    func throttledStreams() async throws {
        let fixture = try await PoolFixture { push, connection in
            if push.index % 50 == 25 {
                connection.setMaximumConcurrentStreams(1)
                connection.refuse(push, 400, "BadDeviceToken")
            } else {
                if push.index % 50 == 27 { connection.setMaximumConcurrentStreams(100) }
                connection.respond(push.stream, HTTP2ServerResponse(status: 200))
            }
        }
        let verdicts = try await fixture.send(1_000)
        #expect(verdicts.allSatisfy { $0.outcome != .retryable })
        #expect(verdicts.count { $0.cleanup == .suspect } >= 20)
        #expect(fixture.apns.opened.value == 1)
        await fixture.stop()
    }

    @Test("An unreachable host is reported at once with the time of the next try")
    func unreachable() async throws {
        let fixture = try await PoolFixture(
            isReachable: false,
            deadline: .milliseconds(400)
        )
        let verdict = await fixture.pool.send(try fixture.push())
        #expect(verdict.outcome == .retryable)
        #expect(verdict.publicReason == "NetworkUnavailable")
        #expect(verdict.exposure == .none)
        #expect(verdict.retryAfterMilliseconds ?? 0 > 0)
        await fixture.stop()
    }

    @Test("An answer that comes early, split or without headers is understood")
    func oddAnswers() async throws {
        let fixture = try await PoolFixture { push, connection in
            let body = Array(#"{"reason":"Unregistered","timestamp":1700000000123}"#.utf8)
            connection.respond(
                push.stream,
                HTTP2ServerResponse(status: 410, body: body, frameBytes: 3)
            )
        }
        #expect(await fixture.pool.send(try fixture.push()).cleanup == .dead)
        fixture.apns.change { push, connection in
            let body = [UInt8](repeating: 0x20, count: 10_000)
            connection.respond(push.stream, HTTP2ServerResponse(status: 410, body: body))
        }
        let oversized = await fixture.pool.send(try fixture.push())
        #expect(oversized.publicReason == "NetworkUnavailable")
        #expect(oversized.cleanup == nil)
        await fixture.stop()
    }
}
