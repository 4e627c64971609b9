import Glibc

/// Reads what a person hands to a tool: a file, or standard input as `-`.
package enum InputFile {
    /// The whole content; more than `limit` bytes is refused.
    package static func read(_ path: String, limit: Int) throws(CommandFailure) -> [UInt8] {
        let isInput = path == "-"
        let descriptor = isInput ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        let name = isInput ? "standard input" : path
        guard descriptor >= 0 else { throw failure(name, "cannot be opened") }
        defer { if !isInput { close(descriptor) } }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw failure(name, "cannot be read") }
            if count == 0 { return bytes }
            guard bytes.count + count <= limit else {
                throw CommandFailure(
                    "\(name) holds more than \(limit) bytes",
                    exitCode: ExitCode.badInput
                )
            }
            bytes += buffer[..<count]
        }
    }

    /// A password: the first line of the file, or of standard input. On a terminal it is asked for
    /// without showing what is typed. Never taken from the command line, where others can see it.
    package static func password(file: String?) throws(CommandFailure) -> String {
        let bytes: [UInt8]
        if file == nil, isatty(STDIN_FILENO) == 1 {
            bytes = try typed()
        } else {
            bytes = try read(file ?? "-", limit: 4096)
        }
        let line = bytes.prefix { $0 != 0x0a }
        guard let text = String(validating: line, as: UTF8.self), !text.isEmpty else {
            throw CommandFailure(
                "the password is empty or not UTF-8: give it on standard input or with "
                    + "--password-file",
                exitCode: ExitCode.badInput
            )
        }
        return text
    }

    private static func typed() throws(CommandFailure) -> [UInt8] {
        var shown = termios()
        tcgetattr(STDIN_FILENO, &shown)
        var hidden = shown
        hidden.c_lflag &= ~tcflag_t(ECHO)
        Terminal.standard.error("Password: ")
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden)
        defer {
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown)
            Terminal.standard.error("\n")
        }
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while bytes.count < 4096, Glibc.read(STDIN_FILENO, &byte, 1) == 1, byte != 0x0a {
            bytes.append(byte)
        }
        return bytes
    }

    private static func failure(_ name: String, _ what: String) -> CommandFailure {
        let reason = strerror(errno).map { String(cString: $0) } ?? "unknown error"
        return CommandFailure("\(name) \(what): \(reason)", exitCode: ExitCode.files)
    }
}
