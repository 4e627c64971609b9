import Glibc
import Loop

/// An IPv4 or IPv6 address with a port, in the form that the socket calls take.
package struct SocketAddress: Sendable {
    private var storage: sockaddr_storage
    private var length: socklen_t

    var family: Int32 { Int32(storage.ss_family) }

    /// The port in host order.
    var port: UInt16 {
        withUnsafeBytes(of: storage) { bytes in
            // Both families keep the port in network order at offset 2.
            UInt16(bytes[2]) << 8 | UInt16(bytes[3])
        }
    }

    init?(_ address: UnsafePointer<sockaddr>?, length: socklen_t) {
        guard let address, Int(length) <= MemoryLayout<sockaddr_storage>.size else { return nil }
        storage = sockaddr_storage()
        self.length = length
        withUnsafeMutableBytes(of: &storage) { target in
            target.copyMemory(
                from: UnsafeRawBufferPointer(start: address, count: Int(length))
            )
        }
    }

    /// The address that a bound socket has.
    init?(boundTo socket: Int32) {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let code = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getsockname(socket, $0, &length)
            }
        }
        guard code == 0 else { return nil }
        self.storage = storage
        self.length = length
    }

    func with<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }

    /// Looks a host up; blocks unless `numericOnly`. The text of a failure is the resolver's.
    package static func resolve(
        host: String,
        port: UInt16,
        numericOnly: Bool = false,
        passive: Bool = false
    ) throws(HTTP2Closure) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_NUMERICSERV | (numericOnly ? AI_NUMERICHOST : AI_ADDRCONFIG)
        if passive { hints.ai_flags |= AI_PASSIVE }
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, String(port), &hints, &list)
        guard code == 0 else {
            throw .resolution("\(host): \(String(cString: gai_strerror(code)))")
        }
        defer { freeaddrinfo(list) }
        var found: [SocketAddress] = []
        var next = list
        while let entry = next, found.count < 16 {
            if let address = SocketAddress(entry.pointee.ai_addr, length: entry.pointee.ai_addrlen)
            {
                found.append(address)
            }
            next = entry.pointee.ai_next
        }
        return found
    }
}

/// Makes a non-blocking TCP socket that no child process inherits.
func makeStreamSocket(family: Int32) throws(SystemCallError) -> Int32 {
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let socket = socket(family, kind, 0)
    guard socket >= 0 else { throw .last("socket") }
    var one: Int32 = 1
    setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    return socket
}
