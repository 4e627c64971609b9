import CZMQ

/// A failed libzmq call: what was tried, libzmq's error number and what to do about it.
///
/// Would-block and unreachable peers are not errors; they are values of
/// ``ZeroMQSendOutcome`` and ``ZeroMQReceived``.
package struct ZeroMQError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The libzmq function or check that failed.
    package let operation: String
    /// libzmq's errno, or 0 when this module itself refused.
    package let code: Int32
    /// What happened and, where known, what to do.
    package let message: String

    init(operation: String, code: Int32, message: String) {
        self.operation = operation
        self.code = code
        self.message = message
    }

    /// The error that the last libzmq call of this thread left behind.
    static func last(_ operation: String, _ hint: String = "") -> ZeroMQError {
        let code = zmq_errno()
        let text = zmq_strerror(code).map { String(cString: $0) } ?? "unknown error"
        return ZeroMQError(
            operation: operation,
            code: code,
            message: hint.isEmpty ? text : "\(text): \(hint)"
        )
    }

    /// A refusal of this module, with what to do.
    package static func refused(_ operation: String, _ message: String) -> ZeroMQError {
        ZeroMQError(operation: operation, code: 0, message: message)
    }

    /// Whether the context has been shut down, so that the socket is of no more use.
    package var isTerminated: Bool { code == zeroMQTerminated }

    package var description: String { "\(operation): \(message)" }
}
