import Contracts
import HTTP2
import Loop

/// What a host does with one request.
enum Verdict {
    /// 200 at once: by far the most, so that no answer is put together for it.
    case accepted(MessageID, unique: MessageID?)
    case answer(HTTP2ServerResponse, delayMilliseconds: Int)
    case scripted(ScriptedOutcome, HTTP2ServerResponse)
}

/// The verdict and what it means for the connection's limits.
struct Judgement {
    var verdict: Verdict
    var answer: APNsAnswer
}

/// The state of one connection that outlives a request; loop thread only.
final class ConnectionRecord {
    var rules = ConnectionTokenRules()
    var requests = 0
    var lastUse: UnixMilliseconds
    var idleTimer: LoopTimer?
    /// A request brought a valid provider token.
    var hasShownToken = false
    /// The limit is the full one.
    var isRamped = false
    var isThrottled = false
    /// Streams that were answered before their body came.
    var answeredEarly: Set<Int32> = []

    init(openedAt: UnixMilliseconds) { lastUse = openedAt }
}
