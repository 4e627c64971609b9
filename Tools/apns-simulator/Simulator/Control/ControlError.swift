import Contracts
import HTTPServer
import PushBusCrypto

/// Why the control API refuses a call; the message says what is accepted.
struct ControlError: Error, CustomStringConvertible {
    var status: Int
    var message: String

    init(_ status: Int, _ message: String) {
        self.status = status
        self.message = message
    }

    var description: String { message }

    var response: HTTPResponse {
        var json = CompactJSON()
        json.object { $0.field("error", message) }
        return .json(status, json.bytes)
    }
}
