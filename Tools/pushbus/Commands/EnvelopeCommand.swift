import Commands
import Contracts
import PushBusCrypto

/// `pushbus envelope seal` and `pushbus envelope open`
enum EnvelopeCommand {
    /// Bytes of the longest description.
    static let inputLimit = 64 << 10

    static let seal = Command(
        "envelope seal",
        "Seals a notification described on standard input and prints the envelope.",
        notes: """
            The description is a JSON object with 'key' (32 bytes in hex), 'key_id' (UUID),
            'content' (the members of the plaintext, 'kind' and so on) and, for comparisons with
            other implementations only, 'nonce' (12 bytes in hex).

            \(ExitCode.help)
            """
    ) { _ in
        try print { (description) throws in try description.sealed() }
    }

    static let open = Command(
        "envelope open",
        "Opens an envelope described on standard input and prints the plaintext.",
        notes: """
            The description is a JSON object with 'key' (32 bytes in hex), 'envelope' (the object)
            and optionally 'key_id' and 'content' with the three identifiers of the recipient that
            is expected.

            \(ExitCode.help)
            """
    ) { _ in
        try print { (description) throws in try description.opened() }
    }

    private static func print(
        _ body: (EnvelopeDescription) throws -> [UInt8]
    ) throws -> Int32 {
        let input = try InputFile.read("-", limit: inputLimit)
        do {
            let bytes = try body(EnvelopeDescription(parsing: input))
            Terminal.standard.line(String(decoding: bytes, as: UTF8.self))
        } catch let violation as ContractViolation {
            throw CommandFailure("\(violation)", exitCode: ExitCode.badInput)
        } catch let error as EnvelopeError {
            throw CommandFailure("\(error)")
        }
        return ExitCode.success
    }
}
