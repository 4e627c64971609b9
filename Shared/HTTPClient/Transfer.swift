import CCurl

/// One easy handle from its setting up to its end. Lives on the client's loop thread only.
final class Transfer {
    let id: UInt64
    let handle: UnsafeMutableRawPointer

    private let order: TransferOrder
    private let continuation: TransferAnswer
    private var headerList: UnsafeMutablePointer<curl_slist>?
    private var response = HTTPClientResponse(status: 0)
    private var tooLarge = false
    private var ended = false
    /// How often the request was begun to be written; libcurl repeats one whose reused connection
    /// was closed without a reply.
    private var timesSent = 0
    private var cameTooLate = false

    init(
        _ id: UInt64,
        _ order: TransferOrder,
        _ configuration: HTTPClientConfiguration,
        _ continuation: TransferAnswer
    ) throws(HTTPClientError) {
        let request = order.request
        let texts = [request.url, request.method] + request.headers.flatMap { [$0.0, $0.1] }
        guard texts.allSatisfy({ $0.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }) else {
            throw HTTPClientError(
                .invalidRequest,
                "The URL, method or a header holds a control character."
            )
        }
        guard let handle = curl_easy_init() else {
            throw HTTPClientError(.cannotConnect, "libcurl has no memory for another request.")
        }
        self.id = id
        self.order = order
        self.continuation = continuation
        self.handle = handle
        setCommon(configuration)
        setRequest(request)
        setCallbacks()
    }

    deinit {
        curl_easy_cleanup(handle)
        curl_slist_free_all(headerList)
    }

    private func setCommon(_ configuration: HTTPClientConfiguration) {
        _ = ccurl_set_long(handle, CURLOPT_NOSIGNAL, 1)
        _ = ccurl_set_long(handle, CURLOPT_FOLLOWLOCATION, 0)
        _ = ccurl_set_string(handle, CURLOPT_PROTOCOLS_STR, "http,https")
        _ = ccurl_set_string(handle, CURLOPT_PROXY, "")
        let version =
            configuration.offersHTTP2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1
        _ = ccurl_set_long(handle, CURLOPT_HTTP_VERSION, Int(version))
        if configuration.offersHTTP2 { _ = ccurl_set_long(handle, CURLOPT_PIPEWAIT, 1) }
        _ = ccurl_set_long(handle, CURLOPT_SSL_VERIFYPEER, 1)
        _ = ccurl_set_long(handle, CURLOPT_SSL_VERIFYHOST, 2)
        _ = ccurl_set_long(handle, CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        _ = ccurl_set_string(handle, CURLOPT_USERAGENT, configuration.userAgent)
        _ = ccurl_set_long(
            handle,
            CURLOPT_CONNECTTIMEOUT_MS,
            milliseconds(configuration.connectTimeout)
        )
        if let caFile = configuration.caFile {
            _ = ccurl_set_string(handle, CURLOPT_CAINFO, caFile)
            // Only the given authorities: no directory of the system beside the file.
            _ = ccurl_set_pointer(handle, CURLOPT_CAPATH, nil)
        }
    }

    private func setRequest(_ request: HTTPClientRequest) {
        _ = ccurl_set_string(handle, CURLOPT_URL, request.url)
        switch request.method {
        case "GET" where request.body.isEmpty:
            _ = ccurl_set_long(handle, CURLOPT_HTTPGET, 1)
        case "HEAD":
            _ = ccurl_set_long(handle, CURLOPT_NOBODY, 1)
        default:
            _ = ccurl_set_long(handle, CURLOPT_POST, 1)
            _ = ccurl_set_string(handle, CURLOPT_CUSTOMREQUEST, request.method)
            _ = ccurl_set_size(
                handle,
                CURLOPT_POSTFIELDSIZE_LARGE,
                Int64(request.body.count)
            )
            request.body.withUnsafeBytes { bytes in
                // libcurl copies the given number of bytes; an empty body still needs a pointer.
                let empty = UnsafeMutableRawPointer(bitPattern: 1)
                _ = ccurl_set_pointer(
                    handle,
                    CURLOPT_COPYPOSTFIELDS,
                    bytes.isEmpty ? empty : UnsafeMutableRawPointer(mutating: bytes.baseAddress)
                )
            }
        }
        headerList = curl_slist_append(nil, "Expect:")
        if !request.headers.contains(where: { $0.0.lowercased() == "content-type" }) {
            // Without this libcurl would call every body a form.
            if let longer = curl_slist_append(headerList, "Content-Type:") { headerList = longer }
        }
        for (name, value) in request.headers {
            // libcurl drops a header without a value unless a semicolon ends its name.
            let line = value.isEmpty ? "\(name);" : "\(name): \(value)"
            if let longer = curl_slist_append(headerList, line) { headerList = longer }
        }
        _ = ccurl_set_pointer(handle, CURLOPT_HTTPHEADER, headerList)
        if order.onChunk == nil {
            _ = ccurl_set_long(handle, CURLOPT_TIMEOUT_MS, milliseconds(request.timeout))
        } else if let idle = order.idleTimeout {
            _ = ccurl_set_long(handle, CURLOPT_LOW_SPEED_LIMIT, 1)
            _ = ccurl_set_long(
                handle,
                CURLOPT_LOW_SPEED_TIME,
                Int(max(1, idle.components.seconds))
            )
        }
    }

    private func setCallbacks() {
        let context = Unmanaged.passUnretained(self).toOpaque()
        _ = ccurl_set_pointer(handle, CURLOPT_PRIVATE, context)
        _ = ccurl_set_callback(handle, CURLOPT_WRITEFUNCTION, receiveBody)
        _ = ccurl_set_pointer(handle, CURLOPT_WRITEDATA, context)
        _ = ccurl_set_callback(handle, CURLOPT_HEADERFUNCTION, receiveHeader)
        _ = ccurl_set_pointer(handle, CURLOPT_HEADERDATA, context)
        _ = ccurl_set_before_request(handle, noteRequest)
        _ = ccurl_set_pointer(handle, CURLOPT_PREREQDATA, context)
    }

    /// Takes the handle out of the multi handle, which ends its callbacks.
    func detach(from multi: UnsafeMutableRawPointer) {
        curl_multi_remove_handle(multi, handle)
    }

    func fail(_ error: HTTPClientError) {
        var error = error
        error.mayHaveArrived = timesSent > 0
        continuation.resume(returning: .failure(error))
    }

    func finish(_ result: CURLcode) {
        if result == CURLE_OK || ended {
            continuation.resume(returning: .success(response))
        } else if cameTooLate {
            fail(.tooLate)
        } else if tooLarge {
            fail(
                HTTPClientError(
                    .replyTooLarge,
                    "The reply is larger than \(order.request.maximumReplyBytes) bytes."
                )
            )
        } else {
            fail(HTTPClientError(result))
        }
    }

    /// Whether libcurl has handed the whole request to the system. A repeat begins anew.
    var isWritten: Bool {
        timesSent > 0 && ccurl_get_size(handle, CURLINFO_SIZE_UPLOAD_T) >= order.request.body.count
    }

    /// Called before each time that libcurl writes the request; false when it must not any more.
    fileprivate func mayWrite() -> Bool {
        if let writeBy = order.writeBy, ContinuousClock.now >= writeBy {
            cameTooLate = true
            return false
        }
        timesSent += 1
        return true
    }

    fileprivate func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if let onChunk = order.onChunk, (200..<300).contains(response.status) {
            ended = !onChunk(Array(bytes))
            return !ended
        }
        guard response.body.count + bytes.count <= order.request.maximumReplyBytes else {
            tooLarge = true
            return false
        }
        response.body += bytes
        return true
    }

    fileprivate func receiveLine(_ bytes: UnsafeRawBufferPointer) {
        let line =
            String(decoding: bytes, as: UTF8.self)
            .split(separator: "\r\n", omittingEmptySubsequences: true).first.map(String.init)
            ?? ""
        if line.hasPrefix("HTTP/") {
            let parts = line.split(separator: " ")
            response.status = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
            response.headers = []
        } else if let colon = line.firstIndex(of: ":") {
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            response.headers.append((name: String(line[..<colon]), value: String(value)))
        }
    }
}

private func milliseconds(_ duration: Duration) -> Int {
    Int(max(1, min(duration / .milliseconds(1), 86_400_000)).rounded(.up))
}

private func receiveBody(
    _ bytes: UnsafeMutablePointer<CChar>?,
    _ size: Int,
    _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let context, let bytes else { return 0 }
    let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    let length = size * count
    return transfer.receive(UnsafeRawBufferPointer(start: bytes, count: length)) ? length : 0
}

private func receiveHeader(
    _ bytes: UnsafeMutablePointer<CChar>?,
    _ size: Int,
    _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let context, let bytes else { return 0 }
    let length = size * count
    Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
        .receiveLine(UnsafeRawBufferPointer(start: bytes, count: length))
    return length
}

private func noteRequest(
    _ context: UnsafeMutableRawPointer?,
    _ peer: UnsafeMutablePointer<CChar>?,
    _ own: UnsafeMutablePointer<CChar>?,
    _ peerPort: Int32,
    _ ownPort: Int32
) -> Int32 {
    guard let context else { return CURL_PREREQFUNC_ABORT }
    return Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue().mayWrite()
        ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}

extension HTTPClientError {
    /// Sorts libcurl's result into what a caller can act on.
    init(_ result: CURLcode) {
        let number = result.rawValue
        switch result {
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL:
            self.init(
                .invalidRequest,
                "The URL is not an http or https URL.",
                curlCode: number
            )
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            self.init(.cannotResolve, "The host name has no address.", curlCode: number)
        case CURLE_COULDNT_CONNECT:
            self.init(.cannotConnect, "Nobody answers at that address.", curlCode: number)
        case CURLE_OPERATION_TIMEDOUT:
            self.init(.timeout, "The reply did not come in time.", curlCode: number)
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM,
            CURLE_SSL_CIPHER, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR:
            self.init(
                .tlsFailed,
                "The TLS handshake failed; check the certificate authority and the host name.",
                curlCode: number
            )
        default:
            self.init(.connectionLost, "The transfer broke off (\(number)).", curlCode: number)
        }
    }
}
