import Glibc

/// A port on loopback where every new connection vanishes without an answer, as behind a firewall
/// that drops packets: the queue of the listening socket is full and stays so.
package final class BlackHole: Sendable {
    private let listener: ListeningSocket
    private let filling: Int32

    package var port: UInt16 { listener.port }

    package init() throws {
        // A queue of length 0 holds one connection.
        listener = try ListeningSocket(queue: 0)
        filling = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = listener.port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let filling = filling
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(filling, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else { throw RawClient.SocketFailure(code: errno) }
    }

    deinit { close(filling) }
}
