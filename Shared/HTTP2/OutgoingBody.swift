import CNghttp2

/// Slot index of a stream, -1 if it has none: the user data of a stream is its index plus one, so
/// that nghttp2's callbacks need no object per request.
@inline(__always)
func slotIndex(_ session: OpaquePointer?, _ stream: Int32) -> Int {
    Int(bitPattern: nghttp2_session_get_stream_user_data(session, stream)) - 1
}

/// The form of a slot index that nghttp2 keeps for a stream.
@inline(__always)
func streamUserData(_ index: Int) -> UnsafeMutableRawPointer? {
    UnsafeMutableRawPointer(bitPattern: index + 1)
}

/// Lends the session object that nghttp2 carries as its context; the object outlives nghttp2's
/// session, which it owns.
@inline(__always)
func withSession<Session: AnyObject, Result>(
    _ context: UnsafeMutableRawPointer?,
    _: Session.Type,
    otherwise: Result,
    _ body: (Session) -> Result
) -> Result {
    guard let context else { return otherwise }
    return Unmanaged<Session>.fromOpaque(context)._withUnsafeGuaranteedRef { body($0) }
}

/// The body of a request or of an answer on its way out.
struct OutgoingBody {
    private var bytes: [UInt8] = []
    private var offset = 0
    /// Most bytes of one DATA frame.
    private var frameBytes = Int.max
    /// Sends all of it but the end of the stream.
    private var leavesOpen = false

    init() {}

    init(_ bytes: [UInt8], frameBytes: Int? = nil, leavesOpen: Bool = false) {
        self.bytes = bytes
        self.frameBytes = max(1, frameBytes ?? .max)
        self.leavesOpen = leavesOpen
    }

    /// There is something to send, so that nghttp2 needs a data provider.
    var isNeeded: Bool { !bytes.isEmpty || leavesOpen }

    /// Bytes that have not been given yet.
    var left: Int { bytes.count - offset }

    /// Gives nghttp2 the next piece; the result is that of its read callback.
    @inline(__always)
    mutating func read(
        into buffer: UnsafeMutablePointer<UInt8>,
        capacity: Int,
        flags: UnsafeMutablePointer<UInt32>
    ) -> Int {
        let left = left
        let count = min(left, capacity, frameBytes)
        bytes.withUnsafeBufferPointer { bytes in
            if let base = bytes.baseAddress { buffer.update(from: base + offset, count: count) }
        }
        offset += count
        guard count == left else { return count }
        if !leavesOpen {
            flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
        } else if count == 0 {
            return Int(NGHTTP2_ERR_DEFERRED.rawValue)
        }
        return count
    }
}
