import FoundationEssentials
import Testing

@testable import RegistrationService

/// The description of the HTTP interface, the README and the router name the same endpoints.
@Suite
struct OpenAPITests {
    private static func lines(_ path: String) throws -> [Substring] {
        let data = try Data(contentsOf: OpenAPIDocument.root.appending(path: path))
        return String(decoding: data, as: UTF8.self).split(separator: "\n")
    }

    /// What the router answers, the plaintext path of old included.
    private static let routed = Set(
        MobileRoute.endpoints.map { "\($0.method.lowercased()) \(MobileRoute.prefix)\($0.path)" }
            + ["post \(MobileRoute.prefix)\(MobileRoute.gone)"]
    )

    @Test func describesEveryEndpointOfTheRouter() {
        let described = OpenAPIDocument.operations.map { operation in
            "\(operation.endpoint.method.lowercased()) \(MobileRoute.prefix)\(operation.endpoint.path)"
        }
        #expect(described.count == Self.routed.count)
        #expect(Set(described) == Self.routed)
    }

    /// What other tests provoke is looked up as it comes (``OpenAPIDocument/expect(_:_:isAnswered:at:)``).
    @Test func describesWhatEveryOperationMayBeAnswered() throws {
        for endpoint in MobileRoute.endpoints {
            let route = try endpoint.route("11111111-1111-4111-8111-111111111111")
            let operation = try #require(
                OpenAPIDocument.operations.first {
                    $0.endpoint.method == endpoint.method && $0.endpoint.path == endpoint.path
                }
            )
            var wanted: Set = [200, 400, 401, 408, 413, 431, 500, 503]
            if route.takesBody { wanted.insert(415) }
            if endpoint.path.hasPrefix("/admin/") { wanted.insert(403) }
            #expect(operation.statuses.isSuperset(of: wanted), "\(operation.name)")
        }
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
