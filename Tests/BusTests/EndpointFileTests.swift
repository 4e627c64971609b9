import Bus
import FoundationEssentials
import TestKit
import Testing

@Suite struct EndpointFileTests {
    @Test func processesKeepItTogether() async throws {
        let folder = try TemporaryDirectory()
        let path = folder.file("fanout.endpoints")
        let file = EndpointFile(path: path)
        let endpoints = try (0..<20).map {
            try BusEndpoint(parsing: "tcp://127.0.0.1:\(1000 + $0)")
        }
        try await withThrowingTaskGroup { group in
            for endpoint in endpoints {
                group.addTask { try EndpointFile(path: path).add(endpoint) }
            }
            try await group.waitForAll()
        }
        #expect(try Set(lines(path)) == Set(endpoints.map(\.description)))
        try file.add(endpoints[3])
        #expect(try lines(path).count == 20)
        for endpoint in endpoints.dropFirst() { try file.remove(endpoint) }
        #expect(try lines(path) == [endpoints[0].description])
        try file.clear()
        #expect(try lines(path).isEmpty)
    }

    @Test func aFolderThatIsNotThereIsSaid() throws {
        let endpoint = try BusEndpoint(parsing: "ipc:///tmp/x.sock")
        let error = #expect(throws: BusConfigurationError.self) {
            try EndpointFile(path: "/nowhere/fanout.endpoints").add(endpoint)
        }
        #expect(error?.message.contains("/nowhere/fanout.endpoints") == true)
    }

    private func lines(_ path: String) throws -> [String] {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init)
    }
}
