/// Hands pieces of a streamed reply to the client.
package struct HTTPStreamWriter: Sendable {
    let connection: ServerConnection
    let serial: UInt64

    /// Queues bytes and returns at once while little is waiting, otherwise when the socket has
    /// taken what was queued. Returns false when the client has left or the server stops; further
    /// writes are then useless.
    @discardableResult
    package func write(_ bytes: [UInt8]) async -> Bool {
        guard !Task.isCancelled else { return false }
        return await connection.write(serial, bytes)
    }
}
