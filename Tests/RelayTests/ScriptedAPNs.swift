import HTTP2
import Loop
import TestKit

/// One request as the scripted APNs saw it.
struct SeenPush: Sendable {
    /// From 0, over all connections.
    let index: Int
    /// From 1, in the order the connections were accepted.
    let connection: UInt64
    let stream: Int32
    let path: String
    let headers: [String: String]
    let body: [UInt8]

    var token: String { headers["authorization"] ?? "" }
}

/// A TLS and HTTP/2 server whose answers a test writes; all scripts run on its loop.
final class ScriptedAPNs: HTTP2ServerHandler {
    typealias Script = @Sendable (SeenPush, HTTP2ServerConnection) -> Void

    private static let recorded = [
        ":method", "authorization", "apns-topic", "apns-push-type", "apns-priority", "apns-id",
        "apns-collapse-id", "apns-expiration",
    ]

    let seen = Observed<[SeenPush]>([])
    let opened = Observed(0)
    let closed = Observed(0)
    /// A closure right inside a lock box would be wrapped once more at every access.
    private struct Holder: Sendable {
        var script: Script
        var closing: @Sendable (UInt64) -> Void = { _ in }
    }

    private let holder: Locked<Holder>

    init(_ script: @escaping Script = ScriptedAPNs.accepting) {
        holder = Locked(Holder(script: script))
    }

    static let accepting: Script = { push, connection in
        connection.respond(push.stream, HTTP2ServerResponse(status: 200))
    }

    /// Calls the closure with the number of each connection when it is closed.
    func onClosing(_ closing: @escaping @Sendable (UInt64) -> Void) {
        holder.withLock { $0.closing = closing }
    }

    func change(_ new: @escaping Script) { holder.withLock { $0.script = new } }

    func connectionOpened(_ connection: HTTP2ServerConnection) { opened.update { $0 += 1 } }

    func connectionClosed(_ connection: HTTP2ServerConnection) {
        holder.withLock { $0.closing }(connection.id)
        closed.update { $0 += 1 }
    }

    func requestEnded(
        _ request: inout HTTP2ServerRequest,
        on connection: HTTP2ServerConnection
    ) {
        var headers: [String: String] = [:]
        for name in Self.recorded {
            if let value = request.headers[name] { headers[name] = value }
        }
        let push = SeenPush(
            index: seen.value.count,
            connection: connection.id,
            stream: request.stream,
            path: request.path,
            headers: headers,
            body: request.body
        )
        seen.update { $0.append(push) }
        holder.withLock { $0.script }(push, connection)
    }
}

extension HTTP2ServerConnection {
    /// An error answer as APNs writes it.
    func refuse(_ push: SeenPush, _ status: Int, _ reason: String, timestamp: Int64? = nil) {
        let stamp = timestamp.map { #","timestamp":\#($0)"# } ?? ""
        let body = Array(#"{"reason":"\#(reason)"\#(stamp)}"#.utf8)
        respond(push.stream, HTTP2ServerResponse(status: status, body: body))
    }
}
