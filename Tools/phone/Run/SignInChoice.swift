import Commands
import Contracts
import PushBusDevice

/// Who somebody says they are, as several commands take it.
enum SignInChoice {
    static let options: [Command.Option] = [
        .value("--server", "URL", "the server, https (http only for 127.0.0.1 with a port)"),
        .value(
            "--pair",
            "CODE",
            "sign in with a pairing code, or with the link of its QR code,\n"
                + "pushbus://pair?server=URL&code=CODE"
        ),
        .value("--pair-file", "FILE", "where the pairing code or link is, - for standard input"),
        .value("--login", "USER", "sign in with a password instead"),
        .value("--password-file", "FILE", "where the password is (default: standard input)"),
        .value("--one-time-code", "CODE", "the one-time code of an account that asks for one"),
    ]

    /// The method, and the server where one is named; nil when nothing of it is given.
    static func method(
        _ arguments: Arguments
    ) throws -> (method: SignIn, server: ServerAddress?)? {
        var code = arguments.value("--pair")
        if let file = arguments.value("--pair-file") {
            guard code == nil else { throw UsageError("--pair and --pair-file exclude each other") }
            code = try InputFile.password(file: file)
        }
        let server = try server(arguments)
        switch (code, arguments.value("--login")) {
        case (nil, nil): return nil
        case (let code?, nil): return try pairing(code, server)
        case (nil, let username?):
            let file = arguments.value("--password-file")
            return (
                .password(
                    username: username,
                    Password(try InputFile.password(file: file)),
                    oneTimeCode: arguments.value("--one-time-code").map { Password($0) }
                ),
                server
            )
        default: throw UsageError("--pair and --login exclude each other")
        }
    }

    private static func pairing(
        _ text: String,
        _ server: ServerAddress?
    ) throws(UsageError) -> (method: SignIn, server: ServerAddress?) {
        guard PairingLink.isLink(text) else { return (.pairing(code: Password(text)), server) }
        do throws(DeviceError) {
            let link = try PairingLink(text)
            if let server, server != link.server {
                throw DeviceError(.address, "the link is for another server than --server")
            }
            return (.pairing(code: link.code), link.server)
        } catch {
            throw UsageError("--pair: \(error.message)")
        }
    }

    private static func server(_ arguments: Arguments) throws(UsageError) -> ServerAddress? {
        guard let text = arguments.value("--server") else { return nil }
        do throws(DeviceError) { return try ServerAddress(text) } catch {
            throw UsageError("--server: \(error.message)")
        }
    }
}
