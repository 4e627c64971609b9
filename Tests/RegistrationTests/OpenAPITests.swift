import FoundationEssentials
import Testing

/// The description of the HTTP interface names every endpoint of the README.
@Suite
struct OpenAPITests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private static func lines(_ path: String) throws -> [Substring] {
        let data = try Data(contentsOf: root.appending(path: path))
        return String(decoding: data, as: UTF8.self).split(separator: "\n")
    }

    @Test func describesEveryEndpoint() throws {
        let table = try Self.lines("Services/Registration/README.md")
        let named = table.compactMap { line -> String? in
            let words = line.dropFirst(3).prefix { $0 != "`" }.split(separator: " ")
            guard line.hasPrefix("| `"), words.count == 2, words[1].hasPrefix("/") else {
                return nil
            }
            return "\(words[0].lowercased()) /api/mobile\(words[1])"
        }
        #expect(named.count >= 15)
        var described: Set<String> = []
        var path = ""
        for line in try Self.lines("Shared/Contracts/openapi/registration.yaml") {
            if line.hasPrefix("  /"), line.hasSuffix(":") {
                path = String(line.dropFirst(2).dropLast())
            }
            let word = line.dropFirst(4).dropLast()
            if line.hasPrefix("    "), ["get", "put", "post", "delete"].contains(word) {
                described.insert("\(word) \(path)")
            }
        }
        for endpoint in named { #expect(described.contains(endpoint), "\(endpoint)") }
    }
}
