import COpenSSL

/// Whether both are equal, in a time that depends on the lengths only.
package func constantTimeEquals(
    _ left: some Collection<UInt8>,
    _ right: some Collection<UInt8>
) -> Bool {
    guard left.count == right.count else { return false }
    return withContiguousBytes(left) { left in
        withContiguousBytes(right) { right in
            left.isEmpty || CRYPTO_memcmp(left.baseAddress, right.baseAddress, left.count) == 0
        }
    }
}
