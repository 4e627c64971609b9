import Contracts

/// The stored form of an envelope: version, key id, identity, nonce and ciphertext in one run of bytes.
enum EnvelopeBytes {
    private static let keyIDBytes = 16
    private static let identityBytes = 32
    private static let headBytes = 1 + keyIDBytes + identityBytes + Envelope.nonceBytes

    /// Nil for an envelope that breaks its contract.
    static func encode(_ envelope: Envelope) -> [UInt8]? {
        guard
            let version = UInt8(exactly: envelope.version),
            envelope.nonce.bytes.count == Envelope.nonceBytes,
            let identity = bytes(hex: envelope.identity)
        else { return nil }
        var stored: [UInt8] = []
        stored.reserveCapacity(headBytes + envelope.ciphertext.bytes.count)
        stored.append(version)
        stored += envelope.keyID.bytes
        stored += identity
        stored += envelope.nonce.bytes
        stored += envelope.ciphertext.bytes
        return stored
    }

    /// Nil for bytes that no envelope was made of.
    static func decode(_ stored: [UInt8]) -> Envelope? {
        guard stored.count > headBytes else { return nil }
        let identityStart = 1 + keyIDBytes
        let nonceStart = identityStart + identityBytes
        guard let keyID = KeyID(bytes: stored[1..<identityStart]) else { return nil }
        return Envelope(
            version: Int(stored[0]),
            keyID: keyID,
            identity: hex(stored[identityStart..<nonceStart]),
            nonce: Blob(Array(stored[nonceStart..<headBytes])),
            ciphertext: Blob(Array(stored[headBytes...]))
        )
    }

    private static func bytes(hex: String) -> [UInt8]? {
        let digits = Array(hex.utf8)
        guard digits.count == identityBytes * 2 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(identityBytes)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(digits[index]), let low = value(digits[index + 1]) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x61...0x66: digit - 0x61 + 10
        default: nil
        }
    }

    private static func hex(_ bytes: ArraySlice<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(unsafeUninitializedCapacity: bytes.count * 2) { buffer in
            var index = 0
            for byte in bytes {
                buffer[index] = digits[Int(byte >> 4)]
                buffer[index + 1] = digits[Int(byte & 15)]
                index += 2
            }
            return index
        }
    }
}
