import FoundationEssentials
import Glibc
import HTTPServer
import Loop
import TestKit
import Testing

@Suite(.serialized, .timeLimit(.minutes(5)))
struct HTTPServerEnduranceTests {
    /// A sanitizer keeps memory of its own that grows with use.
    private static let isSanitized = ["__tsan_init", "__asan_init"].contains { (name: String) in
        dlsym(nil, name) != nil
    }

    @Test func badRequestsLeaveMemoryFlat() async throws {
        var limits = HTTPServerLimits()
        limits.uploadTimeout = .milliseconds(5)
        try await withServer(limits: limits) { server, port, _ in
            try await abuse(port, rounds: 200)
            let before = try residentKilobytes()
            try await abuse(port, rounds: 1000)
            let grown = try residentKilobytes() - before
            #expect(Self.isSanitized || grown < 16_384, "resident memory grew by \(grown) KiB")
            #expect(server.statistics.requests == 2400)
        }
    }

    /// One oversized and one stalled upload a round.
    private func abuse(_ port: UInt16, rounds: Int) async throws {
        for _ in 0..<rounds {
            let oversized = try RawClient(port: port)
            try await oversized.send(
                "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 90000\r\n\r\n"
                    + String(repeating: "x", count: 9000)
            )
            #expect(try await oversized.receiveToEnd()?.contains("413") == true)
            let slow = try RawClient(port: port)
            try await slow.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc")
            #expect(try await slow.receiveToEnd()?.contains("408") == true)
        }
    }

    private func residentKilobytes() throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * 4
    }
}
