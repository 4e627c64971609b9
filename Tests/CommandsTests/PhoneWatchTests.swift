import Commands
import Contracts
import Glibc
import Loop
import TestKit
import Testing

@testable import pushbus

@Suite struct PhoneWatchTests {
    private func write(_ text: String, to descriptor: Int32) {
        let bytes = Array(text.utf8)
        #expect(Glibc.write(descriptor, bytes, bytes.count) == bytes.count)
    }

    @Test func linesComeAsThePhoneSaysThem() async throws {
        let directory = try TemporaryDirectory()
        let seen = Locked<[String]>([])
        let watch = try PhoneWatch(phone: "p", pipe: directory.file("pipe")) { line in
            seen.withLock { $0.append(line.event) }
        }
        let phone = open(watch.pipe, O_WRONLY | O_CLOEXEC)
        try watch.startReading()
        async let registered = watch.first("registering", within: .seconds(10)) {
            $0.event == "registered"
        }
        write("{\"event\":\"listening\",\"at_ms\":1}\nnonsense\n{\"event\":\"regis", to: phone)
        write("tered\",\"at_ms\":2}\n", to: phone)
        #expect(try await registered.at == UnixMilliseconds(2))
        let id = "11111111-1111-4111-8111-111111111111"
        write(
            "{\"at_ms\":3,\"event\":\"banner\",\"event_id\":\"\(id)\",\"title\":\"T\"}\n",
            to: phone
        )
        close(phone)
        await watch.waitForEnd()
        #expect(watch.lines.last?.eventID?.description == id)
        #expect(seen.withLock { $0 } == ["listening", "registered", "banner"])
        // What was said before is found; what was never said fails at once, the phone has ended.
        _ = try await watch.first("listening", within: .seconds(10)) { $0.event == "listening" }
        await #expect(throws: CommandFailure.self) {
            _ = try await watch.first("a test", within: .seconds(10)) { $0.event == "test" }
        }
    }
}
