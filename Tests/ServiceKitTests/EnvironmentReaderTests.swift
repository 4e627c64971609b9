import Glibc
import ServiceKit
import TestKit
import Testing

@Suite
struct EnvironmentReaderTests {
    private struct Settings {
        var port = 0
        var wait = Duration.zero
        var strict = false
        var store = ""
        var secret: Secret?

        init(_ reader: inout EnvironmentReader) throws(ConfigurationErrors) {
            port = reader.int("PORT", default: 80, in: 1...65_535, help: "port to listen at")
            wait = reader.duration(
                "WAIT",
                default: .seconds(2),
                in: .milliseconds(10)...(.seconds(3_600)),
                help: "how long to wait"
            )
            strict = reader.bool("STRICT", default: true, help: "whether to be strict")
            store = reader.path("STORE", help: "where to store")
            secret = reader.secret("PASSWORD", required: true, help: "the password")
            try reader.finish()
        }
    }

    private func settings(_ values: [String: String]) throws(ConfigurationErrors) -> Settings {
        var reader = EnvironmentReader(prefix: "PUSHBUS_X_", values: values)
        return try Settings(&reader)
    }

    @Test("Good values are taken and the rest keeps its default")
    func goodValues() throws {
        let settings = try settings([
            "PUSHBUS_X_STORE": "/var/x", "PUSHBUS_X_PASSWORD": "open sesame",
            "PUSHBUS_X_WAIT": "1500ms", "PUSHBUS_X_STRICT": "no", "PUSHBUS_X_PORT": "",
            "PUSHBUS_Y_OTHER": "1", "HOME": "/root",
        ])
        #expect(settings.port == 80)
        #expect(settings.wait == .milliseconds(1_500))
        #expect(!settings.strict)
        #expect(settings.store == "/var/x")
        #expect(settings.secret?.withBytes { String(decoding: $0, as: UTF8.self) } == "open sesame")
    }

    @Test("All bad, missing and unknown variables are reported at once")
    func allProblems() throws {
        let errors = #expect(throws: ConfigurationErrors.self) {
            try settings([
                "PUSHBUS_X_PORT": "70000", "PUSHBUS_X_WAIT": "soon", "PUSHBUS_X_STRICT": "perhaps",
                "PUSHBUS_X_STOER": "/var/x", "PUSHBUS_X_SOMETHING": "1",
            ])
        }
        let problems = try #require(errors?.problems)
        #expect(
            problems.map(\.variable) == [
                "PUSHBUS_X_PORT", "PUSHBUS_X_WAIT", "PUSHBUS_X_STRICT", "PUSHBUS_X_STORE",
                "PUSHBUS_X_PASSWORD", "PUSHBUS_X_SOMETHING", "PUSHBUS_X_STOER",
            ]
        )
        #expect(problems.last?.message.contains("did you mean PUSHBUS_X_STORE?") == true)
        #expect(problems[0].message == "has to be a whole number from 1 to 65535")
    }

    @Test("A secret comes from a file, but not from both places, and is never shown")
    func secrets() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("password")
        let descriptor = open(path, O_WRONLY | O_CREAT, 0o600)
        #expect(write(descriptor, "swordfish\n", 10) == 10)
        close(descriptor)
        var values = ["PUSHBUS_X_STORE": "/s", "PUSHBUS_X_PASSWORD_FILE": path]
        let secret = try #require(try settings(values).secret)
        #expect(secret.withBytes { String(decoding: $0, as: UTF8.self) } == "swordfish")
        #expect("\(secret)" == "‹redacted›")
        #expect(String(reflecting: secret) == "‹redacted›")
        var dumped = ""
        dump(secret, to: &dumped)
        #expect(!dumped.contains("Storage"))

        values["PUSHBUS_X_PASSWORD"] = "swordfish"
        var reader = EnvironmentReader(prefix: "PUSHBUS_X_", values: values)
        let errors = #expect(throws: ConfigurationErrors.self) { try Settings(&reader) }
        #expect(errors?.problems.count == 1)
        #expect(errors?.description.contains("swordfish") == false)
        #expect(!reader.printed().contains("swordfish"))
        #expect(reader.printed().contains("PUSHBUS_X_PASSWORD=‹redacted›"))

        values["PUSHBUS_X_PASSWORD"] = nil
        values["PUSHBUS_X_PASSWORD_FILE"] = directory.file("missing")
        #expect(throws: ConfigurationErrors.self) { try settings(values) }
    }

    @Test(
        "Times are read with their units and written back the same",
        arguments: [
            ("2", Duration.seconds(2)), ("500ms", .milliseconds(500)),
            ("1.5s", .milliseconds(1_500)),
            ("5m", .seconds(300)), ("1h", .seconds(3_600)),
        ]
    )
    func times(raw: String, expected: Duration) throws {
        let values = [
            "PUSHBUS_X_STORE": "/s", "PUSHBUS_X_PASSWORD": "p", "PUSHBUS_X_WAIT": raw,
        ]
        #expect(try settings(values).wait == expected)
    }

    @Test(
        "What is no time is refused",
        arguments: ["", "-1", "nan", "inf", "1e9", "0x10", "s", "9999999h"]
    )
    func noTimes(raw: String) {
        let values = [
            "PUSHBUS_X_STORE": "/s", "PUSHBUS_X_PASSWORD": "p", "PUSHBUS_X_WAIT": raw,
        ]
        if raw.isEmpty {
            #expect(throws: Never.self) { try settings(values) }
        } else {
            #expect(throws: ConfigurationErrors.self) { try settings(values) }
        }
    }
}
