import Commands
import Contracts
import Glibc
import QRCode
import ServiceKit
import Topology

/// `pushbus pair`
enum PairCommand {
    static let command = Command(
        "pair",
        "Makes a pairing code, which signs a phone in once.",
        positionals: [.init("USER", "the account's name")],
        options: [
            .flag("--json", "print one JSON object"),
            .flag("--no-qr", "print no QR code"),
        ] + BusConnection.options,
        notes: """
            Enter server and code on the phone, or let it read the QR code, which holds
            pushbus://pair?server=URL&code=CODE with both percent-encoded. The code works once and for five minutes; whoever has
            it can sign in as the account.

            \(ExitCode.help)
            """
    ) { arguments in
        let connection = try BusConnection(arguments)
        let user = try arguments.requiredWord("USER")
        let answer = try await connection.ask(
            PairingCreate(username: user),
            of: .registration
        )
        if arguments.has("--json") {
            Terminal.standard.line(try JSONText.line(answer))
        } else {
            Terminal.standard.out(
                """
                server  \(answer.serverURL)
                code    \(answer.code.text)
                until   \(answer.expiresAt.start.rfc3339)

                """
            )
            if !arguments.has("--no-qr"), let code = QRCode(uri(of: answer)) {
                Terminal.standard.out("\n" + code.text(colored: isatty(STDOUT_FILENO) == 1))
            }
        }
        return ExitCode.success
    }

    /// What the QR code says.
    static func uri(of answer: PairingCreateAnswer) -> String {
        "pushbus://pair?server=\(encoded(answer.serverURL))&code=\(encoded(answer.code.text))"
    }

    /// Percent-encodes everything but the unreserved characters (RFC 3986 section 2.3).
    private static func encoded(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E:
                bytes.append(byte)
            default: bytes += [0x25] + Array(Hex.encode([byte]).uppercased().utf8)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
