/// h2load of the nghttp2 project, the reference client.
struct H2Load {
    private let program: String
    private let options: BenchOptions
    private let folder: BenchFolder

    init(_ options: BenchOptions, _ folder: BenchFolder) throws {
        program = try ExternalProgram.find("h2load", package: "nghttp2-client")
        self.options = options
        self.folder = folder
    }

    func run(_ target: BenchTarget, connections: Int = 1) throws -> H2Figure {
        var arguments = [
            "-n", "\(options.requests)", "-c", "\(connections)", "-t", "1", "-m",
            "\(options.streams)",
            "-d", folder.file("body.json"),
        ]
        for (name, value) in RequestFields.all(target.token) {
            arguments += ["-H", "\(name): \(value)"]
        }
        arguments.append("https://127.0.0.1:\(target.port)/3/device/\(BenchFolder.token)")
        let result = try ExternalProgram(
            program,
            arguments,
            output: folder.file("h2load.log")
        ).wait()
        guard
            result.code == 0,
            result.output.contains("\(options.requests) succeeded"),
            let line = result.output.split(separator: "\n").first(where: {
                $0.hasPrefix("finished in")
            }),
            let text = line.split(separator: " ").first(where: { Double($0) != nil }),
            let rate = Double(text)
        else { throw BenchFailure("h2load failed (code \(result.code)):\n\(result.output)") }
        return H2Figure(
            requestsPerSecond: rate,
            cpuMicroseconds: result.cpuSeconds / Double(options.requests) * 1_000_000
        )
    }
}

/// The header fields of a push, the same for every client.
enum RequestFields {
    static func all(_ token: String?) -> [(name: String, value: String)] {
        // As long as a real provider token.
        let token = token ?? String(repeating: "t", count: 205)
        return [
            ("authorization", "bearer \(token)"), ("apns-topic", "app.example"),
            ("apns-push-type", "alert"), ("apns-priority", "10"),
            ("apns-expiration", "1999999999"),
            ("apns-id", "0f8fad5b-d9cb-469f-a165-70867728950e"),
        ]
    }
}
