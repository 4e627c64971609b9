/// The `traceparent` of W3C Trace Context, version 00.
package enum TraceParent {
    /// Whether the text may be passed on; what is malformed starts no trace (§3.2.2 of that
    /// recommendation).
    package static func isWellFormed(_ text: String) -> Bool {
        let bytes = text.utf8
        return bytes.count == 55
            && bytes.enumerated().allSatisfy { index, byte in
                switch index {
                case 2, 35, 52: byte == 0x2d
                default: (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
                }
            }
    }
}
