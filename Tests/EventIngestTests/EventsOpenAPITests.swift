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

    @Test func describesEveryMediaTypeAndStatus() throws {
        let text = try Self.lines("Shared/Contracts/openapi/events.yaml").joined(separator: "\n")
        for type in ["cloudevents+json", "cloudevents-batch+json", "json"] {
            #expect(text.contains("          application/\(type):\n"))
        }
        for status in [200, 400, 401, 405, 408, 409, 413, 415, 503] {
            #expect(text.contains("        \"\(status)\": {$ref:"), "\(status)")
        }
    }
}
