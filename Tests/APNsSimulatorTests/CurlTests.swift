import APNsSimulator
import FoundationEssentials
import Glibc
import Loop
import TestKit
import Testing

/// A client that nobody here wrote.
@Suite(.timeLimit(.minutes(1)))
struct CurlTests {
    @Test("curl --http2 drives the simulator unmodified")
    func curl() async throws {
        let fixture = try await SimulatorFixture()
        let output = fixture.directory.file("answer.txt")
        let arguments = [
            "curl", "--silent", "--show-error", "--http2", "--cacert",
            fixture.simulator.authorityPath, "--output", output,
            "--dump-header", "\(output).headers",
            "--header", "authorization: bearer \(try fixture.jwt())",
            "--header", "apns-topic: app.example", "--header", "apns-push-type: alert",
            "--data", #"{"aps":{"alert":"from curl"}}"#,
            "https://localhost:\(fixture.port("sandbox"))/3/device/00ff",
        ]
        #expect(try await run("/usr/bin/curl", arguments) == 0)
        let headers = String(
            decoding: try Data(contentsOf: URL(filePath: "\(output).headers")),
            as: UTF8.self
        )
        #expect(headers.hasPrefix("HTTP/2 200"))
        #expect(headers.contains("apns-id: "))
        #expect(
            try await fixture.received("00ff").map(\.payload)
                == [#"{"aps":{"alert":"from curl"}}"#]
        )
        await fixture.stop()
    }

    /// Runs a program on a thread of its own and gives its wait status, -1 if it did not start.
    private func run(_ path: String, _ arguments: [String]) async throws -> Int32 {
        let thread = try SerialThread(name: "curl")
        defer { thread.stop() }
        return try await thread.run {
            var id = pid_t()
            var status: Int32 = -1
            var argv: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
            let code = posix_spawn(&id, path, nil, nil, &argv, environ)
            for pointer in argv { free(pointer) }
            if code == 0 { waitpid(id, &status, 0) }
            return status
        }
    }
}
