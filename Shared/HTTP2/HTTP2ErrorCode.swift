/// An error code of RST_STREAM or GOAWAY (RFC 9113 section 7); unknown codes are kept.
package struct HTTP2ErrorCode: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let noError = HTTP2ErrorCode(rawValue: 0)
    package static let protocolError = HTTP2ErrorCode(rawValue: 1)
    package static let internalError = HTTP2ErrorCode(rawValue: 2)
    package static let flowControlError = HTTP2ErrorCode(rawValue: 3)
    package static let settingsTimeout = HTTP2ErrorCode(rawValue: 4)
    package static let streamClosed = HTTP2ErrorCode(rawValue: 5)
    package static let frameSizeError = HTTP2ErrorCode(rawValue: 6)
    package static let refusedStream = HTTP2ErrorCode(rawValue: 7)
    package static let cancel = HTTP2ErrorCode(rawValue: 8)
    package static let compressionError = HTTP2ErrorCode(rawValue: 9)
    package static let connectError = HTTP2ErrorCode(rawValue: 10)
    package static let enhanceYourCalm = HTTP2ErrorCode(rawValue: 11)
    package static let inadequateSecurity = HTTP2ErrorCode(rawValue: 12)
    package static let http11Required = HTTP2ErrorCode(rawValue: 13)

    private static let names = [
        "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT",
        "STREAM_CLOSED", "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR",
        "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
    ]

    package var description: String {
        rawValue < Self.names.count ? Self.names[Int(rawValue)] : "code \(rawValue)"
    }

    /// The code with the name that `description` gives, for scripts.
    package init?(name: String) {
        guard let index = Self.names.firstIndex(of: name) else { return nil }
        self.init(rawValue: UInt32(index))
    }
}

/// What a GOAWAY frame said (RFC 9113 section 6.8).
package struct HTTP2GoAway: Sendable, Hashable {
    /// Streams above it were not processed.
    package var lastStreamID: Int32
    package var code: HTTP2ErrorCode
    /// Opaque data, at most 1 KiB of it; APNs puts its JSON with the reason here.
    package var debugData: [UInt8]

    package init(lastStreamID: Int32, code: HTTP2ErrorCode, debugData: [UInt8]) {
        self.lastStreamID = lastStreamID
        self.code = code
        self.debugData = debugData
    }
}
