/// libcurl's multi interface, the reference for HTTP/2 by a library that everybody has.
struct CurlMulti {
    private let options: BenchOptions
    private let folder: BenchFolder

    init(_ options: BenchOptions, _ folder: BenchFolder) {
        self.options = options
        self.folder = folder
    }

    /// One round with a tenth of the requests, since it takes about ten times as long for each.
    func run(_ target: BenchTarget) throws -> H2Figure {
        let requests = max(options.streams, options.requests / 10)
        let result = try ExternalProgram(
            try ExternalProgram.sibling("pushbus-bench-curl"),
            [
                "https://localhost:\(target.port)/3/device/\(BenchFolder.token)",
                target.authorityFile, folder.file("body.json"), "\(requests)", "\(options.streams)",
            ] + RequestFields.all(target.token).map { "\($0.name): \($0.value)" },
            output: folder.file("curl.log")
        ).wait()
        let words = result.output.split { $0 == " " || $0 == "\n" }
        guard result.code == 0, words.count == 2, let good = Int(words[0]), good == requests,
            let seconds = Double(words[1])
        else { throw BenchFailure("libcurl failed (code \(result.code)):\n\(result.output)") }
        return H2Figure(
            requestsPerSecond: Double(requests) / seconds,
            cpuMicroseconds: result.cpuSeconds / Double(requests) * 1_000_000
        )
    }
}

/// A server to be loaded.
struct BenchTarget {
    var port: UInt16
    /// The certificate that a client has to trust.
    var authorityFile: String
    /// A provider token, for a server that looks at it.
    var token: String?
}
