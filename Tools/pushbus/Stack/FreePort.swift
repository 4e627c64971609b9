import Commands
import Glibc

/// Finds TCP ports on 127.0.0.1 that nobody uses now.
enum FreePort {
    /// That many different ports; another program may still take one before it is used.
    static func take(_ count: Int) throws(CommandFailure) -> [UInt16] {
        var held: [Int32] = []
        defer { for descriptor in held { close(descriptor) } }
        var ports: [UInt16] = []
        for _ in 0..<count {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            guard descriptor >= 0 else { throw failure }
            held.append(descriptor)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let result = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    bind(descriptor, address, size) == 0
                        && getsockname(descriptor, address, &size) == 0
                }
            }
            guard result else { throw failure }
            ports.append(UInt16(bigEndian: address.sin_port))
        }
        return ports
    }

    private static let failure = CommandFailure("no free port on 127.0.0.1: close some programs")
}
