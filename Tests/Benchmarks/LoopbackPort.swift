import Glibc

/// Ports on 127.0.0.1.
enum LoopbackPort {
    /// A port that nobody listened at a moment ago.
    static func free() throws -> UInt16 {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = self.address(0)
        let code = withSocketAddress(&address) { bind(socket, $0, $1) }
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let found = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getsockname(socket, $0, &length)
            }
        }
        guard code == 0, found == 0 else { throw BenchFailure("no free port on 127.0.0.1") }
        return UInt16(bigEndian: address.sin_port)
    }

    /// Tries to connect until somebody listens, at most ten seconds.
    static func waitUntilOpen(_ port: UInt16) throws {
        for _ in 0..<500 {
            let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(socket) }
            var address = address(port)
            if withSocketAddress(&address, { connect(socket, $0, $1) }) == 0 { return }
            poll(nil, 0, 20)
        }
        throw BenchFailure("nobody listens at port \(port)")
    }

    private static func address(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        return address
    }

    private static func withSocketAddress(
        _ address: inout sockaddr_in,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
