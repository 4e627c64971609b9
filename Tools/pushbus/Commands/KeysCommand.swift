import Commands
import Contracts
import Topology
import ZeroMQ

/// `pushbus keys make`, `keys show` and `keys rotate-master`
enum KeysCommand {
    static let make = Command(
        "keys make",
        "Makes a CURVE key for the bus over tcp.",
        positionals: [.init("NAME", "the principal's name, such as relay")],
        options: [.value("--directory", "DIR", "where the files go (default: here)")],
        notes: """
            Writes NAME.key (mode 0600, keep it where it is) and NAME.key.pub (to hand out), and
            prints the beginning of the line for a service's allow-list, 'name key types [sources]'.
            Add the message types it may send, separated by commas; a name may end in '*', and '*'
            alone means all of them, also those of administrators. A line without types is refused.
            Sources limit what it may publish in the same way.

            \(ExitCode.help)
            """
    ) { arguments in
        let name = try arguments.requiredWord("NAME")
        guard isGood(name) else {
            throw UsageError("NAME must be 1 to 64 of a-z, A-Z, 0-9, '.', '_' and '-'")
        }
        let path = (arguments.value("--directory") ?? ".") + "/\(name).key"
        do throws(ZeroMQError) {
            let keys = try CurveKeyPair.generate()
            try CurveKeyFile.write(keys, to: path)
            Terminal.standard.line("\(name) \(keys.publicKey.z85)")
            Terminal.standard.error("wrote \(path) and \(path).pub\n")
        } catch {
            throw CommandFailure("\(error)", exitCode: ExitCode.files)
        }
        return ExitCode.success
    }

    static let show = Command(
        "keys show",
        "Prints the public key of a key file.",
        positionals: [.init("FILE", "a key file or its .pub file")],
        notes: ExitCode.help
    ) { arguments in
        do throws(ZeroMQError) {
            let path = arguments.word("FILE") ?? ""
            Terminal.standard.line(try CurveKeyFile.readPublic(path).z85)
        } catch {
            throw CommandFailure("\(error)", exitCode: ExitCode.files)
        }
        return ExitCode.success
    }

    static let rotateMaster = Command(
        "keys rotate-master",
        "Puts what Registration has sealed under a new master key.",
        options: BusConnection.options,
        notes: """
            Content keys and secrets of one-time codes are sealed anew while Registration goes on
            working; the key file (mode 0600) is replaced when all are done, and the old key is gone
            then. If Registration stops in between it goes on at its next start. Copy the new key
            file; backups of before need the old one.

            \(ExitCode.help)
            """
    ) { arguments in
        let connection = try BusConnection(arguments)
        return try await connection.session { session in
            var answer = try await session.ask(
                MasterKeyRotate(begin: true),
                of: .registration
            )
            var trouble: String?
            while answer.running {
                if let new = answer.trouble, new != trouble {
                    Terminal.standard.error("\(new); Registration tries again\n")
                }
                trouble = answer.trouble
                try await Task.sleep(for: .milliseconds(100))
                answer = try await session.ask(MasterKeyRotate(begin: false), of: .registration)
            }
            Terminal.standard.line("under the new master key: \(answer.resealed)")
            guard answer.unreadable == 0 else {
                throw CommandFailure(
                    "not opened by either key and left as they are: \(answer.unreadable); those "
                        + "phones have to register again, those accounts need 'user totp' again"
                )
            }
            return ExitCode.success
        }
    }

    static func isGood(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && !name.hasPrefix(".") && !name.hasPrefix("-")
            && name.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5a).contains($0)
                    || (0x61...0x7a).contains($0) || $0 == 0x2d || $0 == 0x2e || $0 == 0x5f
            }
    }
}
