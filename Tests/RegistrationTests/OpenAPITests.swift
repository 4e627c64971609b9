import FoundationEssentials
import Testing

@testable import RegistrationService

/// The description of the HTTP interface, the README and the router name the same endpoints.
@Suite
struct OpenAPITests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private static func lines(_ path: String) throws -> [Substring] {
        let data = try Data(contentsOf: root.appending(path: path))
        return String(decoding: data, as: UTF8.self).split(separator: "\n")
    }

    /// What the router answers, the plaintext path of old included.
    private static let routed = Set(
        MobileRoute.endpoints.map { "\($0.method.lowercased()) \(MobileRoute.prefix)\($0.path)" }
            + ["post \(MobileRoute.prefix)\(MobileRoute.gone)"]
    )

    @Test func describesEveryEndpointOfTheRouter() throws {
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
        #expect(described == Self.routed)
    }

    @Test func theReadmeListsEveryEndpointOfTheRouter() throws {
        let table = try Self.lines("Services/Registration/README.md")
        let named = table.compactMap { line -> String? in
            let words = line.dropFirst(3).prefix { $0 != "`" }.split(separator: " ")
            guard line.hasPrefix("| `"), words.count == 2, words[1].hasPrefix("/") else {
                return nil
            }
            return "\(words[0].lowercased()) \(MobileRoute.prefix)\(words[1])"
        }
        #expect(Set(named) == Self.routed)
    }

    @Test func matchesOneParameterAndNoMore() throws {
        let endpoint = try #require(MobileRoute.endpoints.first { $0.path.hasSuffix("/role") })
        #expect(endpoint.match("/admin/users/u-1/role") == "u-1")
        #expect(endpoint.match("/admin/users//role") == nil)
        #expect(endpoint.match("/admin/users/a/b/role") == nil)
        #expect(endpoint.match("/admin/users/role") == nil)
        let long = String(repeating: "x", count: MobileRoute.longestParameter)
        #expect(endpoint.match("/admin/users/\(long)/role") == long)
        #expect(endpoint.match("/admin/users/\(long)x/role") == nil)
    }
}
