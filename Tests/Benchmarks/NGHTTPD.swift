/// nghttpd of the nghttp2 project, as a server for both clients.
final class NGHTTPD {
    let target: BenchTarget
    private let program: ExternalProgram

    init(_ folder: BenchFolder, _ windows: BenchWindows) throws {
        let port = try LoopbackPort.free()
        program = try ExternalProgram(
            try ExternalProgram.find("nghttpd", package: "nghttp2-server"),
            ["-m", "1000"] + windows.nghttpdArguments + [
                "-d", folder.file("www"), "\(port)", folder.file("server.key"),
                folder.file("server.pem"),
            ],
            output: folder.file("nghttpd.log"),
            limitSeconds: 600
        )
        target = BenchTarget(port: port, authorityFile: folder.file("ca.pem"))
        try LoopbackPort.waitUntilOpen(port)
    }

    func stop() { program.stop() }
}
