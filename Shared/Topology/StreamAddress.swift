import Glibc
import Loop

/// A stream socket's address: a path in the file system, or an IPv4 address and port.
package enum StreamAddress: Hashable, Sendable, CustomStringConvertible {
    case path(String)
    case tcp(host: String, port: UInt16)

    /// Reads `ipc:///absolute/path` or `tcp://127.0.0.1:1234`.
    package init(parsing endpoint: String) throws(TopologyError) {
        if endpoint.hasPrefix("ipc:///") {
            self = .path(String(endpoint.dropFirst(6)))
            return
        }
        let parts = endpoint.hasPrefix("tcp://") ? endpoint.dropFirst(6).split(separator: ":") : []
        guard parts.count == 2, let port = UInt16(parts[1]) else {
            throw TopologyError("\(endpoint) is neither ipc:///path nor tcp://address:port")
        }
        self = .tcp(host: String(parts[0]), port: port)
    }

    package var description: String {
        switch self {
        case .path(let path): "ipc://\(path)"
        case .tcp(let host, let port): "tcp://\(host):\(port)"
        }
    }

    /// Opens a non-blocking socket of the right family.
    func socket() throws -> Int32 {
        let family =
            switch self {
            case .path: AF_UNIX
            case .tcp: AF_INET
            }
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = Glibc.socket(family, kind, 0)
        guard descriptor >= 0 else { throw SystemCallError.last("socket") }
        return descriptor
    }

    /// Lends the address in the form the system calls take.
    func withSocketAddress<Result>(
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) throws(TopologyError) -> Result {
        switch self {
        case .path(let path):
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            let bytes = Array(path.utf8)
            guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
                throw TopologyError("\(path) is too long for a socket: at most 107 bytes")
            }
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
            return Self.lend(&address, body)
        case .tcp(let host, let port):
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            guard inet_pton(AF_INET, host, &address.sin_addr) == 1 else {
                throw TopologyError("\(host) is not an IPv4 address")
            }
            return Self.lend(&address, body)
        }
    }

    private static func lend<Address, Result>(
        _ address: inout Address,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<Address>.size))
            }
        }
    }

    /// Starts to connect; the descriptor is writable once it is connected or refused.
    func startConnecting() throws -> Int32 {
        let descriptor = try socket()
        let result = try withSocketAddress { Glibc.connect(descriptor, $0, $1) }
        guard result == 0 || errno == EINPROGRESS else {
            let failure = SystemCallError.last("connect")
            close(descriptor)
            throw failure
        }
        return descriptor
    }

    /// Listens; a path that is in the way is removed first. Returns the descriptor and the address
    /// with the port the system chose for port 0.
    func listen() throws -> (descriptor: Int32, address: StreamAddress) {
        let descriptor = try socket()
        do {
            if case .path(let path) = self { unlink(path) }
            var on: Int32 = 1
            setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, 4)
            guard try withSocketAddress({ bind(descriptor, $0, $1) }) == 0 else {
                throw SystemCallError.last("bind to \(self)")
            }
            guard Glibc.listen(descriptor, 64) == 0 else { throw SystemCallError.last("listen") }
            guard case .tcp(let host, _) = self else { return (descriptor, self) }
            var bound = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let result = withUnsafeMutablePointer(to: &bound) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    getsockname(descriptor, $0, &length)
                }
            }
            guard result == 0 else { throw SystemCallError.last("getsockname") }
            return (descriptor, .tcp(host: host, port: UInt16(bigEndian: bound.sin_port)))
        } catch {
            close(descriptor)
            throw error
        }
    }
}
