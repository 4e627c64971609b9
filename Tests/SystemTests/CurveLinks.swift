import Bus
import FoundationEssentials
import Glibc
import Topology
import ZeroMQ

/// Every service on tcp with CURVE and an allow-list, each process behind a fault proxy.
final class CurveLinks: Sendable {
    private struct Link: Sendable {
        let service: PushBusService
        let instance: Int
        let keyFile: String
        let key: CurvePublicKey
        let port: UInt16
        let proxy: FaultProxy
    }

    /// The test's own keys; an operator who may send everything.
    let keys: CurveKeyPair
    let allowList: String
    private let links: [Link]

    /// Makes keys, an allow-list of all processes and the proxies, in this directory.
    init(in directory: String, _ topology: Topology) throws {
        keys = try CurveKeyPair.generate()
        allowList = "\(directory)/allowed.txt"
        var links: [Link] = []
        for service in PushBusService.allCases {
            for instance in 1...topology[service].instances {
                let name = topology.processName(of: service, instance: instance)
                let pair = try CurveKeyPair.generate()
                try CurveKeyFile.write(pair, to: "\(directory)/\(name).key")
                let port = try Self.freePort()
                links.append(
                    Link(
                        service: service,
                        instance: instance,
                        keyFile: "\(directory)/\(name).key",
                        key: pair.publicKey,
                        port: port,
                        proxy: try FaultProxy(
                            listen: .tcp(host: "127.0.0.1", port: 0),
                            target: .tcp(host: "127.0.0.1", port: port)
                        )
                    )
                )
            }
        }
        self.links = links
        let lines = links.map { "\($0.service.rawValue)-\($0.instance) \($0.key.z85) *" }
        try (lines + ["operator \(keys.publicKey.z85) *", ""]).joined(separator: "\n")
            .write(toFile: allowList, atomically: true, encoding: .utf8)
    }

    /// How the test's own clients prove who they are.
    var security: BusSecurity { .curve(BusCurve(keys: keys, serverKey: nil, authority: nil)) }

    func endpoints(of service: PushBusService) -> [String] {
        links.filter { $0.service == service }.map { "\($0.proxy.address) \($0.key.z85)" }
    }

    /// The proxies before a service's processes.
    func proxies(of service: PushBusService) -> [FaultProxy] {
        links.filter { $0.service == service }.map(\.proxy)
    }

    func configure(_ topology: inout Topology) {
        for link in links {
            let prefix = link.service.variablePrefix
            var own = [
                prefix + "BIND": "tcp://127.0.0.1:\(link.port)",
                prefix + "CURVE_KEY_FILE": link.keyFile,
                prefix + "CURVE_ALLOW_LIST": allowList,
            ]
            for peer in link.service.peers {
                own[prefix + peer.rawValue.uppercased()] = endpoints(of: peer)
                    .joined(separator: ",")
            }
            topology[link.service].instanceEnvironment[link.instance] = own
        }
    }

    func stop() async {
        for link in links { await link.proxy.stop() }
    }

    static func freePort() throws -> UInt16 {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(socket, address, size) == 0 && getsockname(socket, address, &size) == 0
            }
        }
        guard isBound else { throw SystemTestFailure("no free port") }
        return UInt16(bigEndian: address.sin_port)
    }
}
