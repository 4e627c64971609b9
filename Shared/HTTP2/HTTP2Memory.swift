import CNghttp2
import Glibc

/// Memory for one nghttp2 session, which asks for about ten small pieces for each stream and gives
/// them back together: freed pieces are kept by size instead of going through the C library, whose
/// own cache holds seven of a size and sorts and merges the rest.
///
/// Thread-confined like the session; what is kept is bounded and freed with it.
final class HTTP2Memory {
    /// Sizes are multiples of this, header included.
    private static let step = 64
    /// The largest size that is kept is this times the step.
    private static let sizes = 32
    /// Pieces of one size that are kept.
    private static let keptPieces = 4_096
    /// In front of each piece, to hold its size and to keep the alignment of malloc.
    private static let headerBytes = 16

    /// Begins of the lists of free pieces; each holds the next one in its first bytes.
    private let free: UnsafeMutablePointer<UnsafeMutableRawPointer?>
    private let counts: UnsafeMutablePointer<Int>

    init() {
        free = .allocate(capacity: Self.sizes + 1)
        free.initialize(repeating: nil, count: Self.sizes + 1)
        counts = .allocate(capacity: Self.sizes + 1)
        counts.initialize(repeating: 0, count: Self.sizes + 1)
    }

    deinit {
        for size in 1...Self.sizes {
            while let piece = pop(size) { Glibc.free(piece) }
        }
        free.deallocate()
        counts.deallocate()
    }

    /// What nghttp2 is given; it must not outlive this object.
    var functions: nghttp2_mem {
        nghttp2_mem(
            mem_user_data: Unmanaged.passUnretained(self).toOpaque(),
            malloc: { bytes, context in
                withMemory(context) { $0.allocate(bytes) }
            },
            free: { piece, context in
                guard let piece else { return }
                _ = withMemory(context) { memory in
                    memory.release(piece)
                    return nil
                }
            },
            calloc: { count, bytes, context in
                let (total, isBeyond) = count.multipliedReportingOverflow(by: bytes)
                guard !isBeyond else { return nil }
                let piece = withMemory(context) { $0.allocate(total) }
                if let piece { memset(piece, 0, total) }
                return piece
            },
            realloc: { piece, bytes, context in
                withMemory(context) { $0.reallocate(piece, bytes) }
            }
        )
    }

    private func allocate(_ bytes: Int) -> UnsafeMutableRawPointer? {
        guard bytes <= Int.max - Self.headerBytes - Self.step else { return nil }
        let total = bytes + Self.headerBytes
        var size = (total + Self.step - 1) / Self.step
        let start: UnsafeMutableRawPointer?
        if size <= Self.sizes {
            start = pop(size) ?? malloc(size * Self.step)
        } else {
            start = malloc(total)
            size = 0
        }
        guard let start else { return nil }
        start.storeBytes(of: (size, size == 0 ? bytes : 0), as: (Int, Int).self)
        return start + Self.headerBytes
    }

    private func release(_ piece: UnsafeMutableRawPointer) {
        let start = piece - Self.headerBytes
        let size = start.load(as: Int.self)
        guard size > 0, counts[size] < Self.keptPieces else {
            Glibc.free(start)
            return
        }
        start.storeBytes(of: free[size], as: UnsafeMutableRawPointer?.self)
        free[size] = start
        counts[size] += 1
    }

    private func reallocate(
        _ piece: UnsafeMutableRawPointer?,
        _ bytes: Int
    ) -> UnsafeMutableRawPointer? {
        guard let piece else { return allocate(bytes) }
        let (size, large) = (piece - Self.headerBytes).load(as: (Int, Int).self)
        let room = size == 0 ? large : size * Self.step - Self.headerBytes
        if bytes <= room, size > 0 { return piece }
        guard let moved = allocate(bytes) else { return nil }
        memcpy(moved, piece, min(room, bytes))
        release(piece)
        return moved
    }

    private func pop(_ size: Int) -> UnsafeMutableRawPointer? {
        guard let start = free[size] else { return nil }
        free[size] = start.load(as: UnsafeMutableRawPointer?.self)
        counts[size] -= 1
        return start
    }
}

/// Lends the object that nghttp2 carries; the session that owns both frees nghttp2's part first.
@inline(__always)
private func withMemory(
    _ context: UnsafeMutableRawPointer?,
    _ body: (HTTP2Memory) -> UnsafeMutableRawPointer?
) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    return Unmanaged<HTTP2Memory>.fromOpaque(context)._withUnsafeGuaranteedRef { body($0) }
}
