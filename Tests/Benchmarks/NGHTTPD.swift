/// nghttpd of the nghttp2 project, as a server for both clients.
final class NGHTTPD {
    /// 64 KiB windows, as APNs was seen to have.
    static let narrow: [String] = []
    /// 1 MiB a stream, 16 MiB a connection.
    static let wide = ["-w", "20", "-W", "24"]

    let port: UInt16
    private let program: ExternalProgram

    init(_ folder: BenchFolder, _ windows: [String]) throws {
        port = try LoopbackPort.free()
        program = try ExternalProgram(
            try ExternalProgram.find("nghttpd", package: "nghttp2-server"),
            ["-m", "1000"] + windows + [
                "-d", folder.file("www"), "\(port)", folder.file("server.key"),
                folder.file("server.pem"),
            ],
            output: folder.file("nghttpd.log"),
            limitSeconds: 600
        )
        try LoopbackPort.waitUntilOpen(port)
    }

    func stop() { program.stop() }
}
