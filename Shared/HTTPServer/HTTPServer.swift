import CMHD
import Glibc
import Loop
import Synchronization

/// An HTTP/1.1 server over libmicrohttpd, whose own thread reads and writes the sockets.
///
/// A complete request is suspended there while a task works on it. Connections, head and body
/// sizes, concurrent requests and every wait are bounded by `HTTPServerLimits`. Any address but
/// loopback demands TLS files or a declared trusted proxy.
package final class HTTPServer: Sendable {
    private struct Running: Sendable {
        let daemon: DaemonHandle
        let context: CoreReference
        let keeper: DeadlineKeeper
    }

    private enum Phase: Sendable {
        case fresh
        case running(Running)
        case stopped
    }

    private let configuration: HTTPServerConfiguration
    private let core: ServerCore
    private let phase = Locked(Phase.fresh)

    package init(configuration: HTTPServerConfiguration, handler: any HTTPHandler) {
        self.configuration = configuration
        core = ServerCore(handler: handler, configuration: configuration)
    }

    package var statistics: HTTPServerStatistics {
        core.table.withLock { $0.statistics }
    }

    /// Starts to listen and returns the bound port. A server starts once.
    package func start() throws(HTTPServerError) -> UInt16 {
        var address = try ListenAddress(host: configuration.host, port: configuration.port)
        guard address.isLoopback || configuration.tls != nil || configuration.trustedProxy else {
            throw HTTPServerError(
                .exposedWithoutTLS,
                """
                \(configuration.host) is not a loopback address: give certificate and key files, \
                declare a trusted proxy in front, or listen on 127.0.0.1.
                """
            )
        }
        let files = try configuration.tls.map { tls throws(HTTPServerError) in
            (
                certificate: try Self.readText(tls.certificatePath),
                key: try Self.readText(tls.keyPath)
            )
        }
        return try phase.withLock { phase throws(HTTPServerError) -> UInt16 in
            guard case .fresh = phase else {
                throw HTTPServerError(.alreadyStarted, "A server can be started once.")
            }
            let keeper: DeadlineKeeper
            do { keeper = try DeadlineKeeper(core: core) } catch {
                throw HTTPServerError(
                    .cannotListen,
                    "No thread for the deadlines: \(error). Raise the limit of threads."
                )
            }
            let context = CoreReference(core)
            let daemon = DaemonOptions(
                limits: configuration.limits,
                certificate: files?.certificate,
                key: files?.key
            ).start(&address, context: context.pointer)
            guard let daemon else {
                let number = errno
                context.release()
                keeper.loop.stop()
                throw HTTPServerError(
                    .cannotListen,
                    """
                    Cannot listen on \(configuration.host):\(configuration.port) (errno \
                    \(number)): the port may be taken, or the certificate and key do not fit.
                    """,
                    errno: number
                )
            }
            Task { await keeper.start() }
            phase = .running(
                Running(daemon: DaemonHandle(pointer: daemon), context: context, keeper: keeper)
            )
            return cmhd_bound_port(daemon)
        }
    }

    /// Takes no new connection, refuses new requests, waits for those being worked on at most
    /// `stopGrace`, then answers the rest 503 and closes everything. Stopping twice is fine.
    package func stop() async {
        let running = phase.withLock { phase -> Running? in
            defer { phase = .stopped }
            if case .running(let running) = phase { return running }
            return nil
        }
        guard let running else { return }
        core.stopping.store(true, ordering: .releasing)
        let listening = MHD_quiesce_daemon(running.daemon.pointer)
        if listening >= 0 { close(listening) }
        core.endStreams()
        let timer = await running.keeper.forceAfter(configuration.limits.stopGrace)
        await core.waitUntilIdle()
        await running.keeper.cancel(timer)
        core.force()
        await running.keeper.halt(running.daemon)
        running.context.release()
        running.keeper.loop.stop()
    }

    private static func readText(_ path: String) throws(HTTPServerError) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw HTTPServerError(.unreadableFile, "Cannot read \(path) (errno \(errno)).")
        }
        defer { close(descriptor) }
        var text: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while text.count < 1_048_576 {
            let count = read(descriptor, &chunk, chunk.count)
            if count == 0 { return text + [0] }
            guard count > 0 else {
                throw HTTPServerError(.unreadableFile, "Cannot read \(path) (errno \(errno)).")
            }
            text += chunk[0..<count]
        }
        throw HTTPServerError(.unreadableFile, "\(path) is larger than 1 MiB.")
    }
}

// The retained pointer is passed to C and released once, after the daemon has ended.
struct CoreReference: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer

    init(_ core: ServerCore) {
        pointer = Unmanaged.passRetained(core).toOpaque()
    }

    func release() {
        Unmanaged<ServerCore>.fromOpaque(pointer).release()
    }
}

/// The options of one daemon. libmicrohttpd reads key and certificate while it starts.
struct DaemonOptions {
    let limits: HTTPServerLimits
    let certificate: [UInt8]?
    let key: [UInt8]?

    func start(
        _ address: inout ListenAddress,
        context: UnsafeMutableRawPointer
    ) -> OpaquePointer? {
        var flags = MHD_USE_EPOLL_INTERNAL_THREAD.rawValue | MHD_ALLOW_SUSPEND_RESUME.rawValue
        if address.isIPv6 { flags |= MHD_USE_IPv6.rawValue }
        if certificate != nil { flags |= MHD_USE_TLS.rawValue }
        return address.withPointer { address in
            withText(certificate) { certificate in
                withText(key) { key in
                    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2".withCString { priorities in
                        var options = common(address, context)
                        if let certificate, let key {
                            options += [
                                item(.HTTPS_MEM_CERT, pointer: certificate),
                                item(.HTTPS_MEM_KEY, pointer: key),
                                item(
                                    .HTTPS_PRIORITIES,
                                    pointer: UnsafeMutableRawPointer(mutating: priorities)
                                ),
                            ]
                        }
                        options.append(item(.END))
                        return cmhd_start(flags, 0, accessRequest, context, options)
                    }
                }
            }
        }
    }

    private func common(
        _ address: UnsafeMutableRawPointer,
        _ context: UnsafeMutableRawPointer
    ) -> [MHD_OptionItem] {
        [
            cmhd_option_completed(requestCompleted, context),
            cmhd_option_connection(connectionChanged, context),
            cmhd_option_unescape(),
            item(.SOCK_ADDR, pointer: address),
            item(.CONNECTION_LIMIT, limits.connections),
            item(.CONNECTION_MEMORY_LIMIT, limits.headBytes),
            item(.LISTENING_ADDRESS_REUSE, 1),
        ]
    }

    private func item(
        _ option: MHD_OPTION,
        _ value: Int = 0,
        pointer: UnsafeMutableRawPointer? = nil
    ) -> MHD_OptionItem {
        MHD_OptionItem(option: option, value: value, ptr_value: pointer)
    }

    private func withText<R>(
        _ text: [UInt8]?,
        _ body: (UnsafeMutableRawPointer?) -> R
    ) -> R {
        guard var text else { return body(nil) }
        defer { for index in text.indices { text[index] = 0 } }
        return text.withUnsafeMutableBytes { body($0.baseAddress) }
    }
}
