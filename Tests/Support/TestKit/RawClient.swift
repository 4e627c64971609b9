import Glibc
import Loop

/// A plain TCP client that sends exactly the bytes it is told to, on a thread of its own.
package final class RawClient: Sendable {
    private let descriptor: Int32
    private let thread: SerialThread

    /// Connects to a port of 127.0.0.1.
    package init(port: UInt16) throws {
        thread = try SerialThread(name: "raw-client")
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(
            descriptor,
            SOL_SOCKET,
            SO_RCVTIMEO,
            &limit,
            socklen_t(MemoryLayout<timeval>.size)
        )
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw SocketFailure(code: errno) }
    }

    deinit {
        close(descriptor)
        thread.stop()
    }

    /// The connection was not made; `code` is the errno.
    package struct SocketFailure: Error {
        package let code: Int32
    }

    /// Sends text as UTF-8.
    package func send(_ text: String) async throws {
        try await send(Array(text.utf8))
    }

    /// Sends as much as the peer takes; a reset ends it silently.
    package func send(_ bytes: [UInt8]) async throws {
        let descriptor = descriptor
        try await thread.run {
            var sent = 0
            while sent < bytes.count {
                let count = bytes.withUnsafeBytes { buffer in
                    Glibc.send(
                        descriptor,
                        buffer.baseAddress.map { $0 + sent },
                        buffer.count - sent,
                        Int32(MSG_NOSIGNAL)
                    )
                }
                guard count > 0 else { return }
                sent += count
            }
        }
    }

    /// Reads until the text holds the mark, or the peer closes, or 20 s pass.
    package func receive(until mark: String) async throws -> String {
        let descriptor = descriptor
        return try await thread.run {
            var bytes: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 4096)
            while true {
                let text = String(decoding: bytes, as: UTF8.self)
                if text.contains(mark) { return text }
                let count = recv(descriptor, &chunk, chunk.count, 0)
                guard count > 0 else { return text }
                bytes += chunk[0..<count]
            }
        }
    }

    /// Everything until the peer closes; nil when it did not within 20 s.
    package func receiveToEnd() async throws -> String? {
        let descriptor = descriptor
        return try await thread.run {
            var bytes: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = recv(descriptor, &chunk, chunk.count, 0)
                if count < 0, errno == EAGAIN { return nil }
                guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
                bytes += chunk[0..<count]
            }
        }
    }

    /// Closes the sending half.
    package func finishSending() async throws {
        let descriptor = descriptor
        try await thread.run { _ = shutdown(descriptor, Int32(SHUT_WR)) }
    }

    /// Leaves with a reset.
    package func abort() async throws {
        let descriptor = descriptor
        try await thread.run {
            var option = linger(l_onoff: 1, l_linger: 0)
            setsockopt(
                descriptor,
                SOL_SOCKET,
                SO_LINGER,
                &option,
                socklen_t(MemoryLayout<linger>.size)
            )
            shutdown(descriptor, Int32(SHUT_RDWR))
        }
    }
}
