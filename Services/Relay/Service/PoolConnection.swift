import HTTP2
import RelayCore

/// One connection of a pool; touched on the pool's loop only.
final class PoolConnection {
    /// 1 for the first connection of the pool.
    let serial: Int
    let connection: HTTP2ClientConnection
    /// Its only token, for its whole life.
    let token: TokenPolicy.Token
    /// Opened because the one before answered 5xx.
    let isAfterServerError: Bool
    /// Takes no new message.
    var isRetired = false
    /// Its GOAWAY or its end was dealt with.
    var wasReported = false
    /// It was ready once.
    var wasAnnounced = false
    /// A younger connection takes over as soon as it is ready.
    var isReplaced = false
    var isPinging = false
    var hasSucceeded = false
    /// Answers that came over it.
    var answers = 0
    /// Its end was counted for the pace of the openings.
    var isPaced = false
    /// Monotonic milliseconds.
    let openedAt: Int64
    /// Monotonic milliseconds of the last answer or, before it, of the opening.
    var lastUsed: Int64
    /// Messages that only this connection may take.
    var own: [PushJob] = []

    init(
        serial: Int,
        connection: HTTP2ClientConnection,
        token: TokenPolicy.Token,
        isAfterServerError: Bool,
        openedAt: Int64
    ) {
        self.serial = serial
        self.connection = connection
        self.token = token
        self.isAfterServerError = isAfterServerError
        self.openedAt = openedAt
        lastUsed = openedAt
    }

    /// A connection that lived so long was worth its handshake; milliseconds.
    private static let worthwhileLife: Int64 = 60_000
    /// So was one that brought so many answers.
    private static let worthwhileAnswers = 20

    /// Whether it was worth its handshake, so that it is replaced without delay.
    func wasWorthwhile(at now: Int64) -> Bool {
        answers >= Self.worthwhileAnswers || now - openedAt >= Self.worthwhileLife
    }

    /// Messages it takes now.
    var room: Int { isRetired || isPinging ? 0 : connection.capacity }

    /// Whether it can be expected to take messages now or soon.
    var isHopeful: Bool {
        guard !isRetired else { return false }
        switch connection.state {
        case .idle, .connecting, .ready: return true
        case .draining, .closed: return false
        }
    }

    var isOpening: Bool {
        switch connection.state {
        case .idle, .connecting: !isRetired
        case .ready, .draining, .closed: false
        }
    }
}
