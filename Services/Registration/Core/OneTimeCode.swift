import Contracts

/// One-time codes that follow the clock (RFC 6238): SHA-1, 30 seconds, six digits.
package enum OneTimeCode {
    package static let stepSeconds: Int64 = 30
    package static let digits = 6
    /// Bytes of a new secret: as long as the hash (RFC 4226 section 4).
    package static let secretBytes = 20
    /// How many steps a phone's clock may be off, to either side.
    package static let tolerance: Int64 = 1

    package static func step(at now: UnixSeconds) -> Int64 {
        max(0, now.seconds) / stepSeconds
    }

    /// The code of a step; `hmac` is HMAC-SHA-1 under the account's secret.
    package static func code(ofStep step: Int64, hmac: ([UInt8]) -> [UInt8]) -> String {
        let counter = (0..<8).reversed().map { UInt8(truncatingIfNeeded: step >> ($0 * 8)) }
        let hash = hmac(counter)
        // Dynamic truncation (RFC 4226 section 5.3); a hash has 20 bytes.
        let offset = Int(hash.last ?? 0) & 15
        var number: UInt32 = 0
        for index in offset..<offset + 4 {
            number = number << 8 | UInt32(index < hash.count ? hash[index] : 0)
        }
        let text = String((number & 0x7fff_ffff) % 1_000_000)
        return String(repeating: "0", count: digits - text.utf8.count) + text
    }

    /// The step that a code is of, if it is near enough and later than the last one that was used:
    /// a code is good once, and none before it is good any more.
    package static func accept(
        _ code: String,
        now: UnixSeconds,
        lastStep: Int64,
        hmac: ([UInt8]) -> [UInt8]
    ) -> Int64? {
        let current = step(at: now)
        var found: Int64?
        for step in (current - tolerance)...(current + tolerance) {
            let fits = isSame(Self.code(ofStep: step, hmac: hmac), code)
            if fits, step > lastStep { found = found ?? step }
        }
        return found
    }

    /// Takes equally long wherever the texts differ.
    private static func isSame(_ left: String, _ right: String) -> Bool {
        let (left, right) = (Array(left.utf8), Array(right.utf8))
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// The secret in base32 (RFC 4648 section 6) without padding, as authenticator apps take it.
    package static func base32(_ secret: [UInt8]) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)
        var text: [UInt8] = []
        var buffer: UInt32 = 0
        var bits = 0
        for byte in secret {
            buffer = buffer << 8 | UInt32(byte)
            bits += 8
            while bits >= 5 {
                bits -= 5
                text.append(alphabet[Int(buffer >> bits & 31)])
            }
        }
        if bits > 0 { text.append(alphabet[Int(buffer << (5 - bits) & 31)]) }
        return String(decoding: text, as: UTF8.self)
    }

    /// The `otpauth` URI that authenticator apps read from a QR code.
    package static func uri(secret: [UInt8], username: String, issuer: String) -> String {
        let issuer = percentEncoded(issuer)
        return "otpauth://totp/\(issuer):\(percentEncoded(username))"
            + "?secret=\(base32(secret))&issuer=\(issuer)"
    }

    private static func percentEncoded(_ text: String) -> String {
        let hex = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: bytes.append(byte)
            default: bytes += [0x25, hex[Int(byte >> 4)], hex[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
