import Glibc

/// A TCP socket on loopback that listens: the system completes connections, and nobody reads them
/// unless a test accepts them.
package final class ListeningSocket: Sendable {
    package let port: UInt16
    package let descriptor: Int32

    package init(queue: Int32 = 8) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, queue) == 0
                    ? getsockname(descriptor, $0, &length) : -1
            }
        }
        guard code == 0 else { throw RawClient.SocketFailure(code: errno) }
        port = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(descriptor) }
}
