import EventIngestService
import FoundationEssentials
import Testing

/// Router and description of the HTTP door agree, and the README names the same paths.
@Suite struct EventsOpenAPITests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private static func lines(_ path: String) throws -> [Substring] {
        let data = try Data(contentsOf: root.appending(path: path))
        return String(decoding: data, as: UTF8.self).split(separator: "\n")
    }

    @Test func describesEveryPathThatIsAnswered() throws {
        let lines = try Self.lines("Shared/Contracts/openapi/events.yaml")
        let paths = lines.filter { $0.hasPrefix("  /") && $0.hasSuffix(":") }
            .map { String($0.dropFirst(2).dropLast()) }
        #expect(Set(paths) == Set(EventEndpoint.paths))
        let methods = lines.filter {
            ["    get:", "    put:", "    post:", "    delete:"].contains($0)
        }
        #expect(methods == Array(repeating: "    post:", count: paths.count))
        let page = try Self.lines("Services/EventIngest/README.md").joined(separator: "\n")
        for path in EventEndpoint.paths { #expect(page.contains("`POST \(path)`"), "\(path)") }
    }

    /// The lines of one path, up to the next.
    private static func operation(_ path: String) throws -> [Substring] {
        let lines = try lines("Shared/Contracts/openapi/events.yaml")
        let rest = try #require(lines.firstIndex(of: "  \(path):")).advanced(by: 1)
        return Array(lines[rest...].prefix { $0.hasPrefix("    ") })
    }

    @Test(arguments: EventEndpoint.paths)
    func describesEveryStatusOfAPath(_ path: String) throws {
        let statuses = try Self.operation(path).filter { $0.hasPrefix("        \"") }
            .map { $0.dropFirst(9).prefix(3) }
        let answered = ["200", "400", "401", "405", "408", "409", "413", "415", "503"]
        #expect(statuses.map(String.init) == answered)
    }

    @Test func describesEveryMediaTypeOfAPath() throws {
        let taken = [
            "/v1/events": ["cloudevents+json", "cloudevents-batch+json", "json"],
            "/v1/hooks/alertmanager": ["json"],
        ]
        #expect(Set(taken.keys) == Set(EventEndpoint.paths))
        for (path, types) in taken {
            let described = try Self.operation(path)
                .filter { $0.hasPrefix("          application/") }
            #expect(described.map(String.init) == types.map { "          application/\($0):" })
        }
    }

    @Test func describesTheHeadersOfBinaryMode() throws {
        let names = try Self.lines("Shared/Contracts/openapi/events.yaml")
            .filter { $0.hasPrefix("      name: ce-") }.map { String($0.dropFirst(12)) }
        let attributes = [
            "specversion", "id", "source", "type", "time", "expirytime", "traceparent",
        ]
        #expect(names == attributes.map { "ce-\($0)" })
    }
}
