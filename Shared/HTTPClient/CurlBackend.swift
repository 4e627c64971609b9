import CCurl
import Loop
import Synchronization

typealias TransferAnswer = CheckedContinuation<Result<HTTPClientResponse, HTTPClientError>, Never>

/// The multi handle, as what the client's loop waits with.
// Sendable by proof: `multi`, `transfers` and `stopped` are touched on the loop thread only, by
// `wait` and by closures given to `LoopExecutor.execute`; `wake` calls `curl_multi_wakeup`, which
// libcurl declares thread-safe, and the handle lives as long as the backend.
final class CurlBackend: LoopBackend, @unchecked Sendable {
    private let configuration: HTTPClientConfiguration
    private let multi: UnsafeMutableRawPointer?
    private var transfers: [UInt64: Transfer] = [:]
    private var stopped = false

    init(configuration: HTTPClientConfiguration) {
        self.configuration = configuration
        multi = curl_multi_init()
        if let multi {
            _ = ccurl_multi_set_long(
                multi,
                CURLMOPT_MAXCONNECTS,
                configuration.maximumConnections
            )
            _ = ccurl_multi_set_long(
                multi,
                CURLMOPT_MAX_HOST_CONNECTIONS,
                configuration.maximumConnectionsPerHost
            )
        }
    }

    deinit {
        if let multi { curl_multi_cleanup(multi) }
    }

    /// Initialises libcurl once per process.
    static func initializeLibrary() {
        _ = libraryResult
    }

    private static let libraryResult = curl_global_init(Int(CURL_GLOBAL_DEFAULT))

    func wake() {
        if let multi { curl_multi_wakeup(multi) }
    }

    func wait(atMost timeout: Duration?) {
        guard let multi else { return }
        if advance(multi) { return }
        let milliseconds = timeout.map { max(0, min($0 / .milliseconds(1), 3_600_000)) }
        curl_multi_poll(multi, nil, 0, Int32((milliseconds ?? 3_600_000).rounded(.up)), nil)
        _ = advance(multi)
    }

    /// Moves all transfers on; true when one of them ended.
    private func advance(_ multi: UnsafeMutableRawPointer) -> Bool {
        var running: Int32 = 0
        curl_multi_perform(multi, &running)
        var ended = false
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let handle = message.pointee.easy_handle
            else { continue }
            let result = ccurl_message_result(message)
            guard let pointer = ccurl_get_private(handle) else { continue }
            let transfer = Unmanaged<Transfer>.fromOpaque(pointer).takeUnretainedValue()
            transfers[transfer.id] = nil
            transfer.detach(from: multi)
            transfer.finish(result)
            ended = true
        }
        return ended
    }

    // MARK: Loop thread only

    func start(
        _ id: UInt64,
        _ order: TransferOrder,
        _ cancelled: CancelFlag,
        _ continuation: TransferAnswer
    ) {
        guard let multi, !stopped else {
            continuation.resume(returning: .failure(.stopped))
            return
        }
        if cancelled.raised.load(ordering: .acquiring) {
            continuation.resume(returning: .failure(.cancelled))
            return
        }
        let transfer: Transfer
        do throws(HTTPClientError) {
            transfer = try Transfer(id, order, configuration, continuation)
        } catch {
            continuation.resume(returning: .failure(error))
            return
        }
        transfers[id] = transfer
        curl_multi_add_handle(multi, transfer.handle)
    }

    /// The time for writing a request is over; one that has been written is left alone.
    func endUnwritten(_ id: UInt64) {
        guard let multi, let transfer = transfers[id], !transfer.isWritten else { return }
        transfers[id] = nil
        transfer.detach(from: multi)
        transfer.fail(.tooLate)
    }

    func cancel(_ id: UInt64) {
        guard let multi, let transfer = transfers.removeValue(forKey: id) else { return }
        transfer.detach(from: multi)
        transfer.fail(.cancelled)
    }

    func shutDown() {
        stopped = true
        guard let multi else { return }
        for transfer in transfers.values {
            transfer.detach(from: multi)
            transfer.fail(.stopped)
        }
        transfers = [:]
    }
}

extension HTTPClientError {
    static let stopped = HTTPClientError(.stopped, "The HTTP client is stopped.")
    static let tooLate = HTTPClientError(
        .tooLate,
        "The request could not be written in the time it was given."
    )
    static let cancelled = HTTPClientError(.cancelled, "The caller was cancelled.")
}
