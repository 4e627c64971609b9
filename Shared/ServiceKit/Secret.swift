import Glibc

/// Bytes that must not be seen: a password, a private key.
///
/// Printing, interpolating or mirroring it shows nothing; the memory is wiped when the last copy
/// of the value goes.
package struct Secret: Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    // Sendable by proof: the memory is written in `init` and wiped in `deinit`, in between only
    // read.
    private final class Storage: @unchecked Sendable {
        let bytes: UnsafeMutableRawBufferPointer

        init(_ source: some Collection<UInt8>) {
            bytes = .allocate(byteCount: source.count, alignment: 1)
            bytes.copyBytes(from: source)
        }

        deinit {
            // Unlike memset this is never optimised away.
            if let start = bytes.baseAddress { explicit_bzero(start, bytes.count) }
            bytes.deallocate()
        }
    }

    private let storage: Storage

    /// Copies the bytes; wiping the original is the caller's part.
    package init(_ bytes: some Collection<UInt8>) {
        storage = Storage(bytes)
    }

    /// Lends the bytes for the duration of the closure.
    package func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(storage.bytes))
    }

    /// How many bytes it has.
    package var count: Int {
        storage.bytes.count
    }

    package var description: String {
        "‹redacted›"
    }

    package var debugDescription: String {
        "‹redacted›"
    }

    package var customMirror: Mirror {
        Mirror(self, children: [])
    }
}
