import Glibc
import Loop
import TestKit

/// Passes one connection on to a server and counts the TLS records that the client writes
/// (RFC 8446 §5.1: a type, two bytes of version, two of length).
final class RecordCounter: Sendable {
    private struct Parser {
        var records = 0
        var header: [UInt8] = []
        var rest = 0

        mutating func read(_ bytes: ArraySlice<UInt8>) {
            for byte in bytes {
                if rest > 0 {
                    rest -= 1
                    continue
                }
                header.append(byte)
                guard header.count == 5 else { continue }
                rest = Int(header[3]) << 8 | Int(header[4])
                header = []
                records += 1
            }
        }
    }

    private let socket: ListeningSocket
    private let thread: SerialThread
    private let parser = Locked(Parser())

    /// Waits for the one connection.
    init(to server: UInt16) throws {
        socket = try ListeningSocket()
        thread = try SerialThread(name: "record-counter")
        thread.execute { [socket, parser] in
            let client = accept(socket.descriptor, nil, nil)
            let upstream = Self.connect(server)
            Self.pass(client, upstream, parser)
            close(client)
            close(upstream)
        }
    }

    var port: UInt16 { socket.port }

    /// Records of the client so far.
    var records: Int { parser.withLock { $0.records } }

    /// Call once the connection has ended.
    func stop() { thread.stop() }

    private static func connect(_ port: UInt16) -> Int32 {
        let descriptor = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return descriptor
    }

    private static func pass(_ client: Int32, _ server: Int32, _ parser: Locked<Parser>) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            var entries = [
                pollfd(fd: client, events: Int16(POLLIN), revents: 0),
                pollfd(fd: server, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&entries, 2, 20_000) > 0 else { return }
            for (index, (from, to)) in [(client, server), (server, client)].enumerated()
            where entries[index].revents != 0 {
                let count = recv(from, &buffer, buffer.count, 0)
                guard count > 0 else { return }
                if from == client { parser.withLock { $0.read(buffer[..<count]) } }
                var sent = 0
                while sent < count {
                    let step = buffer[sent..<count].withUnsafeBytes {
                        send(to, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                    }
                    guard step > 0 else { return }
                    sent += step
                }
            }
        }
    }
}
