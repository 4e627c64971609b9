import Commands
import Contracts
import FoundationEssentials
import Loop
import PushBusDevice
import TestKit
import Testing

@testable import phone

@Suite struct PhoneReportTests {
    private func lines(asJSON: Bool, _ body: (PhoneReport) -> Void) -> [String] {
        let lines = Locked<[String]>([])
        let terminal = Terminal(
            output: { text in lines.withLock { $0.append(text) } },
            errors: { _ in }
        )
        body(PhoneReport(asJSON: asJSON, terminal: terminal))
        return lines.withLock { $0 }
    }

    private func object(_ line: String?) throws -> JSONValue {
        try JSONDecoder().decode(JSONValue.self, from: Data(try #require(line).utf8))
    }

    @Test func openingsAsJSON() throws {
        let id = try #require(EventID("11111111-1111-4111-8111-111111111111"))
        let banner = Banner(title: "T", body: "B/C")
        let lines = lines(asJSON: true) { report in
            report.show(
                .content(banner, eventID: id, target: nil),
                apnsID: "a",
                identity: nil
            )
            report.show(.silent(.repeated, eventID: id), apnsID: "a", identity: nil)
            report.show(
                .generic(banner, reason: .authenticationFailed, eventID: nil, target: nil),
                apnsID: "a",
                identity: nil
            )
        }
        let shown = try object(lines.first)
        #expect(shown["event"] == .string("banner"))
        #expect(shown["event_id"] == .string(id.description))
        #expect(shown["title"] == .string("T"))
        #expect(shown["body"] == .string("B/C"))
        #expect(shown["generic"] == .bool(false))
        #expect(shown["at_ms"]?.integer != nil)
        #expect(try object(lines.dropFirst().first)["event"] == .string("repeat"))
        let generic = try object(lines.last)
        #expect(generic["event_id"] == nil)
        #expect(generic["reason"] == .string("authentication_failed"))
    }

    @Test func errorsNameTheirCode() throws {
        let lines = lines(asJSON: true) {
            $0.trouble(DeviceError(.unreachable, "no route"))
        }
        let error = try object(lines.first)
        #expect(error["code"] == .string("unreachable"))
        #expect(error["message"] == .string("unreachable: no route"))
    }

    @Test func waitsAreRounded() {
        let lines = lines(asJSON: false) {
            $0.trouble(DeviceError(.unreachable, "no route"), retryIn: .microseconds(1_234_567))
        }
        #expect(lines == ["! unreachable: no route (again in 2 s)\n"])
    }

    @Test func peopleGetText() {
        let lines = lines(asJSON: false) {
            $0.show(
                .generic(
                    Banner(title: "T", body: "B"),
                    reason: .expired,
                    eventID: nil,
                    target: nil
                ),
                apnsID: "a",
                identity: nil
            )
        }
        #expect(lines == ["┌ T\n│ B\n└ tap opens the app [expired]\n"])
    }
}
