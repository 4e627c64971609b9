import CNghttp2
import Glibc
import TLS

/// Moves bytes between an nghttp2 session and a TLS connection; both ends of HTTP/2 use it.
///
/// Frames are collected to full TLS records of 16 KiB before they are written, which saves most of
/// the CPU time; a tail shorter than a record is carried into the next write while more frames
/// come. Loop thread only.
final class HTTP2Wire {
    enum Progress {
        /// All that there is has been moved.
        case done
        /// Reading stopped at its budget although OpenSSL may hold more: call again soon, since
        /// epoll does not report bytes inside OpenSSL.
        case more
        /// Waiting for the socket to become writable.
        case blocked
        /// The peer ended the connection.
        case closed
        case failed(HTTP2Closure)
    }

    static let recordBytes = 16_384

    private let tls: TLSConnection
    private let session: OpaquePointer
    private let counts: HTTP2ByteCounts
    private let readBudget: Int
    private let output: UnsafeMutablePointer<UInt8>
    private let outputCapacity = HTTP2Wire.recordBytes * 4
    private var outputStart = 0
    private var outputEnd = 0
    private let input: UnsafeMutableRawBufferPointer

    init(tls: TLSConnection, session: OpaquePointer, counts: HTTP2ByteCounts, readBudget: Int) {
        self.tls = tls
        self.session = session
        self.counts = counts
        self.readBudget = readBudget
        output = .allocate(capacity: outputCapacity)
        input = .allocate(byteCount: min(65_536, max(1, readBudget)), alignment: 16)
    }

    deinit {
        output.deallocate()
        input.deallocate()
    }

    /// Reads until the socket is empty or the budget is used up, feeding the session.
    func fill() -> Progress {
        var total = 0
        while total < readBudget {
            switch tls.read(into: input) {
            case .ok(let count):
                total += count
                let taken = nghttp2_session_mem_recv(
                    session,
                    input.baseAddress?.assumingMemoryBound(to: UInt8.self),
                    count
                )
                if taken < 0 {
                    return .failed(.protocolViolation(describe(taken)))
                }
            case .wantRead, .wantWrite: return .done
            case .closed: return .closed
            case .failed(let error): return .failed(.transport(error))
            }
        }
        return .more
    }

    /// Writes what the session has to say until it is silent or the socket is full.
    func flush() -> Progress {
        while true {
            var isDrained = false
            while outputEnd - outputStart < Self.recordBytes {
                var bytes: UnsafePointer<UInt8>?
                let count = nghttp2_session_mem_send(session, &bytes)
                if count < 0 { return .failed(.protocolViolation(describe(count))) }
                guard count > 0, let bytes else {
                    isDrained = true
                    break
                }
                append(bytes, count)
            }
            while outputStart < outputEnd {
                let left = outputEnd - outputStart
                if left < Self.recordBytes, !isDrained { break }
                let piece = UnsafeRawBufferPointer(
                    start: output + outputStart,
                    count: min(left, Self.recordBytes)
                )
                let end = counts.produced - Int64(left) + Int64(piece.count)
                counts.attempted = max(counts.attempted, end)
                switch tls.write(piece) {
                case .ok(let count): outputStart += count
                case .wantRead, .wantWrite: return .blocked
                case .closed: return .closed
                case .failed(let error): return .failed(.transport(error))
                }
            }
            if outputStart == outputEnd {
                outputStart = 0
                outputEnd = 0
                if isDrained { return .done }
            }
        }
    }

    /// Tells the peer that nothing more comes.
    func sayGoodbye() { tls.sayGoodbye() }

    private func append(_ bytes: UnsafePointer<UInt8>, _ count: Int) {
        if outputEnd + count > outputCapacity {
            memmove(output, output + outputStart, outputEnd - outputStart)
            outputEnd -= outputStart
            outputStart = 0
        }
        // A frame is at most 16 KiB + 9 bytes, and less than a record waits: it always fits.
        memcpy(output + outputEnd, bytes, count)
        outputEnd += count
        counts.produced += Int64(count)
    }

    private func describe(_ code: Int) -> String {
        String(cString: nghttp2_strerror(Int32(code)))
    }
}

/// Bytes of a connection since its start, by which a request is known to be wholly unwritten.
final class HTTP2ByteCounts {
    /// Taken from nghttp2.
    var produced: Int64 = 0
    /// Handed to TLS at least once, whether or not it took them.
    var attempted: Int64 = 0
}
