import CMHD

extension ServerCore {
    /// The core behind the pointer that a daemon hands to its callbacks.
    static func behind(_ context: UnsafeMutableRawPointer) -> ServerCore {
        Unmanaged<ServerCore>.fromOpaque(context).takeUnretainedValue()
    }
}

// File-scope functions: libmicrohttpd calls them on its own thread, where a closure formed in an
// isolated context would trap.

func accessRequest(
    _ context: UnsafeMutableRawPointer?,
    _ handle: OpaquePointer?,
    _ url: UnsafePointer<CChar>?,
    _ method: UnsafePointer<CChar>?,
    _ version: UnsafePointer<CChar>?,
    _ upload: UnsafePointer<CChar>?,
    _ uploadSize: UnsafeMutablePointer<Int>?,
    _ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let context, let handle, let url, let method, let uploadSize, let request,
        let socket = cmhd_socket_context(handle)
    else { return .NO }
    let core = ServerCore.behind(context)
    let connection = Unmanaged<ServerConnection>.fromOpaque(socket).takeUnretainedValue()
    if request.pointee == nil {
        request.pointee = socket
        var head = HTTPRequestHead(
            method: String(cString: method),
            path: String(cString: url)
        )
        if let version { head.version = String(cString: version) }
        collectValues(handle, into: &head)
        return core.begin(connection, handle, head)
    }
    if uploadSize.pointee > 0 {
        let bytes = UnsafeRawBufferPointer(start: upload, count: uploadSize.pointee)
        uploadSize.pointee = 0
        return core.receive(connection, bytes)
    }
    return core.proceed(connection, handle)
}

private func collectValues(_ handle: OpaquePointer, into head: inout HTTPRequestHead) {
    withUnsafeMutablePointer(to: &head) { pointer in
        _ = MHD_get_connection_values(handle, .HEADER_KIND, collectHeader, pointer)
        _ = MHD_get_connection_values(handle, .GET_ARGUMENT_KIND, collectArgument, pointer)
    }
}

private func collectHeader(
    _ context: UnsafeMutableRawPointer?,
    _ kind: MHD_ValueKind,
    _ key: UnsafePointer<CChar>?,
    _ value: UnsafePointer<CChar>?
) -> MHD_Result {
    guard let context, let key, let value else { return .YES }
    context.assumingMemoryBound(to: HTTPRequestHead.self).pointee.headers
        .append(String(cString: key), String(cString: value))
    return .YES
}

private func collectArgument(
    _ context: UnsafeMutableRawPointer?,
    _ kind: MHD_ValueKind,
    _ key: UnsafePointer<CChar>?,
    _ value: UnsafePointer<CChar>?
) -> MHD_Result {
    guard let context, let key else { return .YES }
    context.assumingMemoryBound(to: HTTPRequestHead.self).pointee
        .query[String(cString: key)] = value.map { String(cString: $0) } ?? ""
    return .YES
}

func requestCompleted(
    _ context: UnsafeMutableRawPointer?,
    _ handle: OpaquePointer?,
    _ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ reason: MHD_RequestTerminationCode
) {
    guard let context, let socket = request?.pointee else { return }
    request?.pointee = nil
    ServerCore.behind(context)
        .completed(Unmanaged<ServerConnection>.fromOpaque(socket).takeUnretainedValue())
}

func connectionChanged(
    _ context: UnsafeMutableRawPointer?,
    _ handle: OpaquePointer?,
    _ socket: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ change: MHD_ConnectionNotificationCode
) {
    guard let context, let handle, let socket else { return }
    let core = ServerCore.behind(context)
    switch change {
    case .CONNECTION_NOTIFY_STARTED:
        socket.pointee = Unmanaged.passRetained(core.opened(handle)).toOpaque()
    default:
        guard let pointer = socket.pointee else { return }
        socket.pointee = nil
        core.closed(Unmanaged<ServerConnection>.fromOpaque(pointer).takeRetainedValue())
    }
}
