import COpenSSL
import Glibc

/// Random bytes of the kernel (getrandom(2)).
package enum SecureRandom {
    /// Blocks only before the kernel's generator is first seeded after boot.
    package static func bytes(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        bytes.withUnsafeMutableBytes { buffer in
            var filled = 0
            while filled < count {
                let got = getrandom(buffer.baseAddress?.advanced(by: filled), count - filled, 0)
                if got > 0 {
                    filled += got
                } else {
                    // Nothing but an interruption can fail here: the address is valid and flags are 0.
                    precondition(errno == EINTR, "getrandom failed with errno \(errno)")
                }
            }
        }
        return bytes
    }
}
