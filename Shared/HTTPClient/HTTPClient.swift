import CCurl
import Loop
import Synchronization

/// An HTTP client over one libcurl multi handle on a thread of its own.
///
/// Connections are reused, certificates are always verified, redirects are never followed and
/// proxies of the environment are ignored. Cancelling the calling task removes the transfer.
package final class HTTPClient: Sendable {
    private let backend: CurlBackend
    private let loop: LoopExecutor
    private let nextID = Atomic<UInt64>(1)

    /// Starts the thread; fails only when the system has no room for another one.
    package init(
        configuration: HTTPClientConfiguration = HTTPClientConfiguration()
    ) throws(SystemCallError) {
        CurlBackend.initializeLibrary()
        backend = CurlBackend(configuration: configuration)
        loop = try LoopExecutor(name: "http-client", backend: backend)
    }

    /// Sends a request and returns its whole reply.
    package func send(
        _ request: HTTPClientRequest
    ) async throws(HTTPClientError) -> HTTPClientResponse {
        try await perform(TransferOrder(request: request)).get()
    }

    /// Sends a request and hands the body of a 2xx reply to the closure piece by piece.
    ///
    /// The closure runs on the client's thread, must not block, and ends the transfer by returning
    /// false. `idleTimeout` (whole seconds) ends a stream that brings nothing; the request's
    /// `timeout` does not apply. The response has a body only when the status is not 2xx.
    package func stream(
        _ request: HTTPClientRequest,
        idleTimeout: Duration? = nil,
        onChunk: @escaping @Sendable ([UInt8]) -> Bool
    ) async throws(HTTPClientError) -> HTTPClientResponse {
        try await perform(
            TransferOrder(request: request, idleTimeout: idleTimeout, onChunk: onChunk)
        ).get()
    }

    /// Ends all transfers with `stopped`, closes the connections and ends the thread.
    package func stop() {
        let backend = backend
        loop.execute { backend.shutDown() }
        loop.stop()
    }

    private func perform(
        _ order: TransferOrder
    ) async -> Result<HTTPClientResponse, HTTPClientError> {
        let id = nextID.add(1, ordering: .relaxed).newValue
        let backend = backend
        let loop = loop
        let cancelled = CancelFlag()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                loop.execute {
                    backend.start(id, order, cancelled, continuation)
                    guard let bound = order.writeBy else { return }
                    let rest = ContinuousClock.now.duration(to: bound)
                    loop.schedule(after: rest) { backend.endUnwritten(id) }
                }
            }
        } onCancel: {
            cancelled.raised.store(true, ordering: .releasing)
            loop.execute { backend.cancel(id) }
        }
    }
}

/// Tells the loop about a cancellation that overtakes the start of its transfer.
final class CancelFlag: Sendable {
    let raised = Atomic(false)
}

/// What is to be transferred.
struct TransferOrder: Sendable {
    var request: HTTPClientRequest
    var idleTimeout: Duration?
    var onChunk: (@Sendable ([UInt8]) -> Bool)?
    /// Nothing is written after this instant.
    let writeBy: ContinuousClock.Instant?

    init(
        request: HTTPClientRequest,
        idleTimeout: Duration? = nil,
        onChunk: (@Sendable ([UInt8]) -> Bool)? = nil
    ) {
        self.request = request
        self.idleTimeout = idleTimeout
        self.onChunk = onChunk
        writeBy = request.writeWithin.map { ContinuousClock.now + $0 }
    }
}
