import Contracts
import ZeroMQ

/// A bus setting that cannot be used, with what to do about it.
package struct BusConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    package let message: String
    package init(_ message: String) { self.message = message }
    package var description: String { message }
}

/// Where a service of the bus is reached: `ipc:///absolute/path` or `tcp://host:port`, on tcp
/// optionally followed by a space and the server's public key (Z85).
package struct BusEndpoint: Hashable, Sendable, CustomStringConvertible {
    package enum Transport: Hashable, Sendable {
        /// The path of a socket file in a 0700 directory.
        case ipc(String)
        /// Host and port; port 0 binds to any free port.
        case tcp(String, UInt16)
    }

    package let transport: Transport
    /// The key this server must prove to have; nil means the one of ``BusSecurity``.
    package let serverKey: CurvePublicKey?

    package init(_ transport: Transport, serverKey: CurvePublicKey? = nil) {
        self.transport = transport
        self.serverKey = serverKey
    }

    /// Reads one endpoint; throws with what is wrong in it.
    package init(parsing text: String) throws(BusConfigurationError) {
        let words = text.split(separator: " ", omittingEmptySubsequences: true)
        guard let address = words.first, words.count <= 2 else {
            throw BusConfigurationError(
                "'\(text)' is no endpoint: use ipc:///path or tcp://host:port"
            )
        }
        var key: CurvePublicKey?
        if words.count == 2 {
            key = CurvePublicKey(z85: String(words[1]))
            guard key != nil else {
                throw BusConfigurationError(
                    "'\(address)' is followed by something that is no Z85 key"
                )
            }
        }
        if address.hasPrefix("ipc:///") {
            let path = String(address.dropFirst(6))
            guard path.utf8.count <= IPCAddress.maximumPathBytes, !path.hasSuffix("/") else {
                throw BusConfigurationError(
                    "'\(address)' must name a socket file of at most "
                        + "\(IPCAddress.maximumPathBytes) bytes of path"
                )
            }
            guard key == nil else {
                throw BusConfigurationError("'\(address)' takes no key: ipc is not encrypted")
            }
            self.init(.ipc(path))
            return
        }
        let rest = address.dropFirst(6)
        guard address.hasPrefix("tcp://"), let colon = rest.lastIndex(of: ":") else {
            throw BusConfigurationError(
                "'\(address)' is no endpoint: use ipc:///path or tcp://host:port"
            )
        }
        let name = rest[..<colon]
        guard
            let port = UInt16(rest[rest.index(after: colon)...]),
            !name.isEmpty,
            !name.contains(where: { $0 == "/" || $0 == ";" })
        else {
            throw BusConfigurationError("'\(address)' needs a host and a port from 0 to 65535")
        }
        self.init(.tcp(String(name), port), serverKey: key)
    }

    /// Reads a list separated by commas.
    package static func list(_ text: String) throws(BusConfigurationError) -> [BusEndpoint] {
        var endpoints: [BusEndpoint] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: true) {
            let endpoint = try BusEndpoint(parsing: String(part))
            if !endpoints.contains(endpoint) { endpoints.append(endpoint) }
        }
        return endpoints
    }

    /// The text that libzmq takes.
    package var address: String {
        switch transport {
        case .ipc(let path): "ipc://\(path)"
        case .tcp(let host, let port): "tcp://\(host):\(port)"
        }
    }

    package var isLocal: Bool { if case .ipc = transport { true } else { false } }

    package var description: String {
        serverKey.map { "\(address) \($0.z85)" } ?? address
    }
}

/// The endpoints a client uses.
package enum BusEndpointSource: Hashable, Sendable {
    case fixed([BusEndpoint])
    /// A file of one endpoint a line, read again while running; `#` begins a comment line.
    case file(String)

    /// Reads a setting: a list separated by commas, or `@/path/of/a/file`.
    package init(parsing text: String) throws(BusConfigurationError) {
        if text.hasPrefix("@") {
            let path = String(text.dropFirst())
            guard path.hasPrefix("/") else {
                throw BusConfigurationError(
                    "'\(text)' must name the endpoint file by absolute path"
                )
            }
            self = .file(path)
            return
        }
        let endpoints = try BusEndpoint.list(text)
        guard !endpoints.isEmpty else {
            throw BusConfigurationError("names no endpoint: use ipc:///path or tcp://host:port")
        }
        self = .fixed(endpoints)
    }
}
