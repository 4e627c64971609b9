import HTTP2

/// What a host does with one request.
enum Verdict {
    case answer(HTTP2ServerResponse, delayMilliseconds: Int)
    case scripted(ScriptedOutcome, HTTP2ServerResponse)
}

/// The state of one connection that outlives a request.
final class ConnectionRecord {
    var rules = ConnectionTokenRules()
    var requests = 0
    /// The first request was accepted, so the limit is the full one.
    var isRamped = false
    var isThrottled = false
    /// Streams that were answered before their body came.
    var answeredEarly: Set<Int32> = []
}
